import { readOnly } from '../../shards/read-only.js';
import { askWay } from '../ask-way.js';
import { readClock, type ClockReading } from './clock-reading.js';
import { looking, type LookLimits } from './look-limits.js';
import { poolerBehind, type PoolerFound } from './pooler-behind.js';
import { readServer, type ServerFacts } from './server-facts.js';
import type { Way } from '../place.js';

/** What a server has said of itself by one way. */
export interface ServerAnswer {
  readonly way: Way;
  readonly server: ServerFacts;
  readonly clock: ClockReading;
  readonly pooler: PoolerFound;
}

/** @throws the driver's error; `timeout expired` */
export function probe(way: Way, limits: LookLimits): Promise<ServerAnswer> {
  return askWay(way, looking(limits), async (client) => {
    const clock = await readClock(client);
    const pooler = await poolerBehind(client, way, limits);
    const server = await readServer((read) => readOnly(client, () => read(client), limits.limitMs));
    return { way, server, clock, pooler };
  });
}
