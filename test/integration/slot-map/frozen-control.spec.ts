import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { waitFor } from '@test/support';
import { GuardedBoots } from './guarded-boots.js';

const CONNECT_MS = 2000;

let boots: GuardedBoots;
/** Takes connections, and never says anything: what a frozen database does. */
let frozen: Server;
let sockets: Socket[];
/** How long each connection of the guard was open. */
let asked: number[];
let primaryUrl: string;

beforeAll(async () => {
  boots = await GuardedBoots.create();
});

beforeEach(async () => {
  [sockets, asked] = [[], []];
  frozen = createServer((socket) => {
    const begin = performance.now();
    sockets.push(socket.on('error', () => undefined));
    socket.once('data', (startup) => {
      if (!startup.includes('nestjs-sharding slot-map control')) return;
      socket.on('close', () => asked.push(performance.now() - begin));
    });
  });
  await new Promise<void>((listening) => frozen.listen(0, '127.0.0.1', listening));
  primaryUrl = `postgres://127.0.0.1:${(frozen.address() as AddressInfo).port}/control`;
});

afterEach(async () => {
  await boots.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((closed) => frozen.close(closed));
});

describe('a control database that answers nothing', () => {
  it('delays a boot that does not need it by one connect timeout at most', async () => {
    const declared = [{ slots: ['0-8191'] }, { slots: ['8192-16383'] }];
    expect(await boots.boot(declared, { primaryUrl, connectTimeoutMs: CONNECT_MS })).toEqual([
      'the slot map was not compared: control cannot be asked for its slot map (no answer in time, or the connection was closed)',
    ]);
    await waitFor(async () => asked.length > 0, { what: 'the guard to give up' });
    expect(asked).toEqual([expect.any(Number)]);
    expect(asked[0]).toBeLessThan(1.9 * CONNECT_MS);
  });

  it('stops a boot that needs it', async () => {
    const booting = boots.boot([{}, {}], { primaryUrl, connectTimeoutMs: 100 });
    await expect(booting).rejects.toMatchObject({ code: 'shard_unavailable' });
  });
});
