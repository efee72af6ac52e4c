import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { pinnedKey, type ControlPlace } from './control.js';

const PROCESSES = 4;

/** From the moment a re-pin is sent until the last of four processes routes by it, in milliseconds. */
export async function measureRepins(place: ControlPlace, count: number) {
  const children = Array.from({ length: PROCESSES }, () => start(place));
  const client = new pg.Client(place.server.url('control'));
  try {
    await client.connect();
    await Promise.all(children.map((child) => once(child, 'message')));
    const times: number[] = [];
    for (let index = 0; index < count; index++) times.push(await repin(client, children, index));
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
    return { count, p50: at(0.5), p99: at(0.99), max: at(1) };
  } finally {
    await client.end();
    for (const child of children) child.disconnect();
    await Promise.all(children.map((child) => once(child, 'exit')));
  }
}

function start({ options }: ControlPlace): ChildProcess {
  const file = fileURLToPath(new URL('./repin-process.js', import.meta.url));
  return fork(file, { env: { ...process.env, BENCH_OPTIONS: JSON.stringify(options) } });
}

async function repin(client: pg.Client, children: readonly ChildProcess[], index: number): Promise<number> {
  const key = pinnedKey(index);
  const shard = `shard${(index + 1) % 2}`;
  const seen = children.map(async (child) => {
    const [{ at }] = (await once(child, 'message')) as [{ at: number }];
    return at;
  });
  for (const child of children) child.send({ key, shard });
  const sent = performance.timeOrigin + performance.now();
  await client.query('update _sharding_directory set shard_name = $2 where routing_key = $1', [key, shard]);
  return Math.max(...(await Promise.all(seen))) - sent;
}
