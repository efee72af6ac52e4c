import { withoutSecrets } from '@app/sharding/secrets';

/** Control characters, and those that turn the direction of writing. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Text of somebody else, made safe for a terminal: one line, no escape sequences. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** One line for people: without line breaks, and without what could be a secret. */
export function oneLine(text: string): string {
  const joined = text
    .trim()
    .replace(/:\s*\n\s*- /g, ': ')
    .replace(/\s*\n\s*- /g, '; ')
    .replace(/\s*\n\s*/g, ' ');
  return printable(withoutSecrets(joined));
}
