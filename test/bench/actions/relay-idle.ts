import { setTimeout as pause } from 'node:timers/promises';
import { bootRelay, eventPlace } from './place.js';

const SHARDS = 16;
const SETTLE_MS = 5000;
const SECONDS = Number(process.env['BENCH_IDLE_SECONDS'] ?? 20);

/** Percent of a core that the process of 16 relays uses while nothing happens; the servers are not counted. */
export async function measureIdle(): Promise<number> {
  const { server, urls } = await eventPlace(SHARDS);
  try {
    const app = await bootRelay(urls, () => undefined);
    await pause(SETTLE_MS);
    const before = process.cpuUsage();
    const began = performance.now();
    await pause(SECONDS * 1000);
    const { user, system } = process.cpuUsage(before);
    const percent = (user + system) / 10 / (performance.now() - began);
    await app.close();
    return percent;
  } finally {
    await server.dispose();
  }
}
