/** One line of the Prometheus text. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i;
const LABEL = /([a-z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/gi;

/** Reads the text strictly: a line that is neither a comment nor a sample fails. */
export function samplesOf(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !/^# (HELP|TYPE) \S+ \S/.test(line));
  return lines.map((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    const pairs = [...labels.matchAll(LABEL)];
    if (pairs.map(([pair]) => pair).join('') !== labels) throw new Error(`not labels: ${labels}`);
    return {
      name,
      labels: Object.fromEntries(pairs.map(([, label, content]) => [label, content])),
      value: Number(value),
    };
  });
}

export async function scrape(url: string): Promise<Sample[]> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  return samplesOf(await response.text());
}

/** The samples of a metric that have all these labels. */
export function select(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  const wanted = Object.entries(labels);
  return samples.filter(
    (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
  );
}

/** The sum of {@link select}; undefined where there are none. */
export function valueOf(...selection: Parameters<typeof select>): number | undefined {
  const found = select(...selection);
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
