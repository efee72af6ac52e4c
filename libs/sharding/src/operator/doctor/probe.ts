import { askWay, readOnly, type AskLimits } from './ask-way.js';
import { readClock, type ClockReading } from './clock-reading.js';
import { poolerBehind, type PoolerFound } from './pooler-behind.js';
import { readServer, type ServerFacts } from './server-facts.js';
import type { Way } from './place.js';

/** What a server has said of itself by one way. */
export interface ServerAnswer {
  readonly way: Way;
  readonly server: ServerFacts;
  readonly clock: ClockReading;
  readonly pooler: PoolerFound;
}

/** @throws the driver's error; `timeout expired` */
export function probe(way: Way, limits: AskLimits): Promise<ServerAnswer> {
  return askWay(way, limits, async (client) => {
    const clock = await readClock(client);
    const pooler = await poolerBehind(client, way, limits);
    const server = await readServer((read) => readOnly(client, limits.limitMs, () => read(client)));
    return { way, server, clock, pooler };
  });
}
