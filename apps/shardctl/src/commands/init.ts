import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ShardingError } from '@app/routing';
import { CONFIGURATION_TEMPLATE } from '../configuration-template.js';
import type { Verb } from '../verb.js';

export const init: Verb = {
  name: 'init',
  group: 'configuration',
  usage: '',
  summary: 'write a commented sharding.toml',
  description:
    'Into the working directory, or to the file that --config names. A file that is there is never changed.',
  options: () => [],
  examples: [
    ['init', 'writes ./sharding.toml'],
    ['init --config deploy/sharding.toml', 'writes another file'],
  ],
  async run(_call, { source }) {
    const file = resolve(source.file ?? 'sharding.toml');
    try {
      await writeFile(file, CONFIGURATION_TEMPLATE, { flag: 'wx', mode: 0o600 }); // it will hold passwords
    } catch (cause) {
      throw notWritten(file, cause as NodeJS.ErrnoException);
    }
    return {
      json: { file },
      text: () => `wrote ${file}; now set the URLs in it, and look with: shardctl config`,
    };
  },
};

function notWritten(file: string, cause: NodeJS.ErrnoException): ShardingError {
  const why =
    cause.code === 'EEXIST'
      ? 'is there already and was left as it is; remove it, or name another file with --config'
      : `cannot be written (${cause.code ?? 'unknown error'}); name another file with --config`;
  return new ShardingError('invalid_options', `${file} ${why}`, { cause });
}
