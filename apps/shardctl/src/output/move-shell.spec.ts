import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { shardctlLine, shellWord } from './move-shell.js';

const WORDS = [
  'acme',
  'a.b-c_d@e:f/g,h=i+j%k',
  '',
  ' ',
  "it's",
  '"quoted"',
  'back\\slash',
  '$HOME `id` $(id) !! * ? ~ #',
  '-5',
  '--yes',
  'two\nlines\ttab',
  '\u001b[31mred',
  '\u202eevil \u2028 \ufeff',
  "it's\u0007 \\u0041",
  'ünïcode ❤ 𝄞',
];

it('gives words that a shell takes back, and a terminal shows', () => {
  const line = WORDS.map(shellWord).join(' ');
  const { stdout } = spawnSync('bash', ['-c', `printf '%s\\0' ${line}`], { env: { LC_ALL: 'C.UTF-8' } });
  expect(stdout.toString().split('\0').slice(0, -1)).toEqual(WORDS);
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  expect(line).not.toMatch(/[\u0000-\u001f\u202e\u2028\ufeff]/);
});

it('keeps the configuration that was named', () => {
  expect(shardctlLine({}, ['pin', 'acme', 'shard1'])).toBe('shardctl pin acme shard1');
  expect(shardctlLine({ file: 'my files/x.toml', profile: 'production' }, ['purge', '5d0f0f4e'])).toBe(
    "shardctl --config 'my files/x.toml' --profile production purge 5d0f0f4e",
  );
});
