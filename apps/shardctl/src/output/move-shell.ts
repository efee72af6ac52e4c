import type { ConfigurationSource } from '../verb.js';

/** A command line of shardctl that can be pasted into a shell, for the same configuration. */
export function shardctlLine({ file, profile }: ConfigurationSource, words: readonly string[]): string {
  const flags = [
    ...(file === undefined ? [] : ['--config', file]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ];
  return ['shardctl', ...flags, ...words].map(shellWord).join(' ');
}

const PLAIN = /^[\w@%+=:,./-]+$/;
/** Control characters, and those that turn the direction of writing: they would not survive a terminal. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** One word of a POSIX shell; of bash where there are characters that cannot be shown. */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  const quoted = text.replaceAll("'", String.raw`'\''`);
  if (text.search(UNSAFE) < 0) return `'${quoted}'`;
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", String.raw`\'`)
    .replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `$'${escaped}'`;
}
