import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import type { MovedTenant } from './moved-tenant.js';

export function hasPsql(): boolean {
  return spawnSync('psql', ['--version']).status === 0;
}

/** `psql | psql`, without a shell. */
export async function pipePsql(tenant: MovedTenant): Promise<void> {
  const { out, into } = tenant.statements;
  const from = start(tenant.url('shard0'), out);
  const to = start(tenant.url('shard1'), into);
  const ended = Promise.all([once(from, 'close'), once(to, 'close')]);
  await pipeline(from.stdout, to.stdin);
  for (const [code] of await ended) if (code !== 0) throw new Error(`psql ended with ${code}`);
}

function start(url: string, statement: string) {
  const { hostname, port, username, password, pathname } = new URL(url);
  return spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-c', statement], {
    env: {
      PATH: process.env['PATH'],
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: decodeURIComponent(username),
      PGPASSWORD: decodeURIComponent(password),
      PGDATABASE: pathname.slice(1),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}
