import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isUpToDate } from '../../support/up-to-date.js';

let directory: string;
const path = (name: string) => join(directory, name);
const write = async (name: string, second: number) => {
  await writeFile(path(name), '');
  await utimes(path(name), second, second);
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nestjs-sharding-'));
  await mkdir(path('sources/deep'), { recursive: true });
  await write('options.json', 1000);
  await write('sources/deep/one.ts', 1000);
});

afterAll(() => rm(directory, { recursive: true }));

it('what is not there, or not newer than each of its sources, is made again', async () => {
  const made = () => isUpToDate(path('made.js'), [path('sources'), path('options.json')]);
  expect(made()).toBe(false);
  await write('made.js', 1001);
  expect(made()).toBe(true);
  await write('sources/deep/one.ts', 1001);
  expect(made()).toBe(false);
  await write('made.js', 1002);
  await write('options.json', 1003);
  expect(made()).toBe(false);
});
