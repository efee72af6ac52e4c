import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { runOnce } from '../../support/admin-query.js';
import { Shardctl } from '../../support/shardctl.js';
import { OFFLINE } from './deployed.js';
import { Migrating, ONE } from './migrating.js';

const at = Migrating.everyTest();
const shardctl = Shardctl.attach();
const BOTH = ['stdout', 'stderr'] as const;

const migrated = (url: string) =>
  runOnce(url, `select name from migrations where name = '${ONE}'`).then(
    (rows) => rows.length === 1,
    () => false,
  );

it('migrates all targets although nobody listens any more', async () => {
  expect(await at.runAs({ deafTo: BOTH })).toEqual({ code: 0, out: '', err: '' });
  expect(await Promise.all(at.urls.slice(1).map(migrated))).toEqual([true, true, true]);
});

it('tells by its exit code alone that a migration has failed', async () => {
  await runOnce(at.urls[2]!, 'create table notes (id int)');
  expect(await at.runAs({ deafTo: BOTH })).toEqual({ code: 1, out: '', err: '' });
  expect(await Promise.all(at.urls.slice(1).map(migrated))).toEqual([true, false, false]);
});

it('tells by its exit code alone that the command line is wrong', async () => {
  expect((await shardctl.run(['rout', 'acme'], { deafTo: BOTH })).code).toBe(2);
});

it('fails when the disk has no room for the answer', async () => {
  const full = await open('/dev/full', 'w');
  try {
    const child = spawn(process.execPath, [shardctl.main, 'slots'], {
      cwd: await shardctl.workingDirectory(OFFLINE),
      stdio: ['ignore', full.fd, 'ignore'],
    });
    expect(await new Promise((done) => child.once('close', done))).toBe(1);
  } finally {
    await full.close();
  }
});
