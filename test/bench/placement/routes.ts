import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HashRouter, routeKey } from '@app/routing';
import { DirectoryConnection, DirectoryRouter, ShardingModule, Shards } from '@app/sharding';
import { compare, type Side, type SideResult } from '../support/bench.js';
import { pinnedKey, type ControlPlace } from './control.js';
import type { INestApplicationContext, Type } from '@nestjs/common';
import type { ShardRouter, Topology } from '@app/routing';

const KEYS = 10_000;
const PASSES = 20;
const MB = 2 ** 20;

const unpinned = Array.from({ length: KEYS }, (_, index) => `tenant-${index}`);

function boot({ options }: ControlPlace): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(appOf(options), { logger: ['error'], abortOnError: false });
}

function appOf(options: ControlPlace['options']): Type {
  @Module({
    imports: [
      ShardingModule.forRoot({
        ...options,
        metrics: false,
        traces: 'off',
        health: false,
        router: {
          inject: [DirectoryConnection],
          useFactory: (connection: DirectoryConnection) => new DirectoryRouter(connection),
        },
      }),
    ],
  })
  class App {}
  return App;
}

/** Routes per second; the sum keeps the optimiser from dropping the work. */
function rate(router: ShardRouter, keys: readonly string[], topology: Topology): number {
  let sum = 0;
  const start = performance.now();
  for (let pass = 0; pass < PASSES; pass++) {
    for (const key of keys) {
      const shard = routeKey(router, key, topology);
      if (shard instanceof Promise) throw new Error('a route of the snapshot waits for nothing');
      sum += shard.index;
    }
  }
  if (sum < 0) throw new Error('shards are counted from 0');
  return (keys.length * PASSES * 1000) / (performance.now() - start);
}

/** Hash, unpinned keys and pinned keys through the directory, in that order. */
export async function compareRoutes(place: ControlPlace, rounds: number): Promise<SideResult[]> {
  const app = await boot(place);
  try {
    const { topology } = app.get(Shards);
    const router = app.get<ShardRouter>(Symbol.for('nestjs-sharding.shard-router'));
    const pinned = Array.from({ length: KEYS }, (_, index) => pinnedKey((index * 7) % place.pins));
    const hash = new HashRouter();
    const sides: Side[] = [
      { name: 'hash', run: () => rate(hash, unpinned, topology) },
      { name: 'directory, unpinned', run: () => turn(() => rate(router, unpinned, topology)) },
      { name: 'directory, pinned', run: () => turn(() => rate(router, pinned, topology)) },
    ];
    return await compare(sides, { rounds, warmup: 3 });
  } finally {
    await app.close();
  }
}

/** The heartbeats of the directory run between the rounds. */
async function turn<T>(work: () => T): Promise<T> {
  await new Promise((resume) => setImmediate(resume));
  return work();
}

/** How long a boot takes to read the pins, and what they weigh. */
export async function measureSnapshot(place: ControlPlace): Promise<{ loadMs: number; heapMb: number }> {
  const empty = { ...place.options, database: { ...place.options.database, directoryShardRouter: false } };
  await weighed(() => boot(place)); // what is loaded once is loaded now
  const withPins = await weighed(() => boot(place));
  const without = await weighed(() =>
    NestFactory.createApplicationContext(bare(empty), { logger: ['error'], abortOnError: false }),
  );
  return { loadMs: withPins.bootMs, heapMb: (withPins.bytes - without.bytes) / MB };
}

/** Nothing of the application is left when it answers: the next one is not weighed with it. */
async function weighed(start: () => Promise<INestApplicationContext>) {
  const began = performance.now();
  const app = await start();
  const bootMs = performance.now() - began;
  const bytes = await liveBytes();
  await app.close();
  return { bootMs, bytes };
}

/** Live objects and the memory of typed arrays, in which the table of the pins is. What was dropped needs several rounds. */
async function liveBytes(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function bare(options: ControlPlace['options']): Type {
  @Module({ imports: [ShardingModule.forRoot({ ...options, metrics: false, traces: 'off', health: false })] })
  class Bare {}
  return Bare;
}

const COMMITTED = `select xact_commit::int as commits from pg_stat_database where datname = 'control'`;

/**
 * Routed work of so many tenants, and the transactions on the control database meanwhile, beyond those of the heartbeat: one
 * or two a second.
 */
export async function countControlQueries(place: ControlPlace, requests: number) {
  const app = await boot(place);
  try {
    const shards = app.get(Shards);
    const before = await commits(place);
    const began = performance.now();
    let next = 0;
    const lane = async () => {
      for (let index = next++; index < requests; index = next++) {
        const key = index % 2 === 0 ? pinnedKey(index % place.pins) : `tenant-${index}`;
        await shards.runFor(key, (db) => db.query('select 1'));
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    const seconds = (performance.now() - began) / 1000;
    const beats = Math.ceil(seconds / 0.9) + 2 * Math.ceil(seconds / 10) + 4;
    const committed = (await commits(place)) - before;
    return { requests, seconds, committed, heartbeats: beats, queries: Math.max(0, committed - beats) };
  } finally {
    await app.close();
  }
}

/** The statistics of a session that just became idle arrive within a second. */
async function commits({ server }: ControlPlace): Promise<number> {
  await new Promise((resume) => setTimeout(resume, 1500));
  const [row] = await server.query(COMMITTED);
  return Number(row?.['commits']);
}
