import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformFile } from '@swc/core';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@test/support';
import { childrenOf, isAlive } from '../../support/processes.js';

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

/** Says which servers it started, then does nothing. */
const PROGRAM = `
  import { PostgresServer } from './support/index.js';
  const primary = await PostgresServer.start();
  const replica = await primary.replica();
  const servers = [];
  for (const server of [primary, replica]) {
    const [row] = await server.query('show data_directory');
    servers.push({ pid: server.pid, data: row.data_directory });
  }
  if (process.argv[2] === 'frozen') primary.freeze({ backends: true });
  console.log(JSON.stringify(servers));
  setInterval(() => undefined, 1000);
`;

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nestjs-sharding-'));
  await mkdir(join(directory, 'support'));
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  await writeFile(join(directory, 'program.js'), PROGRAM);
  for (const name of await readdir(join(root, 'test/support'))) {
    if (!name.endsWith('.ts')) continue;
    const { code } = await transformFile(join(root, 'test/support', name), { cwd: root });
    await writeFile(join(directory, 'support', name.replace(/\.ts$/, '.js')), code);
  }
});

afterAll(() => rm(directory, { recursive: true }));

/** Runs the program in a process group of its own, as a shell does. */
async function startProgram(
  mode: string,
): Promise<{ program: ChildProcess; servers: { pid: number; data: string }[] }> {
  const program = spawn(process.execPath, [join(directory, 'program.js'), mode], {
    detached: true,
    env: { PATH: process.env['PATH'], TMPDIR: tmpdir() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(program.stdout), 'line');
  return { program, servers: JSON.parse(String(line)) as { pid: number; data: string }[] };
}

describe('a process that uses servers leaves nothing behind', () => {
  it.each([
    { how: 'killed', mode: 'running', signal: 'SIGKILL', group: 1 },
    { how: 'killed with a frozen server', mode: 'frozen', signal: 'SIGKILL', group: 1 },
    { how: 'interrupted with its whole process group', mode: 'running', signal: 'SIGINT', group: -1 },
  ] as const)('when it is $how', async ({ mode, signal, group }) => {
    const { program, servers } = await startProgram(mode);
    const pid = Number(program.pid);
    const processes = [pid, ...childrenOf(pid), ...servers.flatMap((server) => childrenOf(server.pid))];
    expect(processes.length).toBeGreaterThan(8);
    expect(servers.every(({ pid: server, data }) => processes.includes(server) && existsSync(data))).toBe(
      true,
    );

    process.kill(group * pid, signal);

    await waitFor(async () => !processes.some(isAlive), { what: 'all processes to end', timeoutMs: 10_000 });
    expect(servers.map(({ data }) => existsSync(dirname(data)))).toEqual([false, false]);
  });
});
