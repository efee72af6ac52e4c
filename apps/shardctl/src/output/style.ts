/** How text is decorated: on a terminal, or not at all. */
export interface Style {
  readonly heading: (text: string) => string;
  readonly bad: (text: string) => string;
}

export const PLAIN: Style = { heading: (text) => text, bad: (text) => text };

export const COLORED: Style = {
  heading: (text) => `\x1b[1m${text}\x1b[22m`,
  bad: (text) => `\x1b[31m${text}\x1b[39m`,
};
