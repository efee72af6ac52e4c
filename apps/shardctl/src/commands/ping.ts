import { Option } from 'commander';
import { seconds, shardOption } from '../arguments.js';
import { table } from '../output/table.js';
import { ping as pingOne, pongs, type Pong } from '../ping-places.js';
import type { Style } from '../output/style.js';
import type { Verb } from '../verb.js';

interface PingOptions {
  readonly shard?: string;
  readonly timeout: number;
}

export const ping: Verb<PingOptions> = {
  name: 'ping',
  group: 'databases',
  usage: '',
  summary: 'latency, version, role and replica lag of every target',
  description:
    'All at once, each on a connection of its own. A target that is dead or silent hides no other. Exit code 1 when one does ' +
    'not answer, or is not what it is configured as.',
  options: () => [
    shardOption('this shard and its replica only'),
    new Option('--timeout <seconds>', 'bound of each target').default(3).argParser(seconds(600)),
  ],
  examples: [
    ['ping', 'everything'],
    ['ping --shard shard0 --timeout 1 --json', 'one shard, impatiently'],
  ],
  async run({ options: { shard, timeout } }, session) {
    const { placesOf } = await import('@app/sharding/operator');
    const places = placesOf(await session.settings(), shard);
    const limitMs = Math.ceil(timeout * 1000);
    const answers = await Promise.all(places.map((place) => pingOne(place, limitMs, session.signal)));
    const found = await pongs(answers);
    return {
      json: { targets: found },
      text: (style) => pongsTable(found, style),
      outcome: found.every(({ ok }) => ok) ? 'ok' : 'failed',
    };
  },
};

/** A row for each target. */
export function pongsTable(found: readonly Pong[], style?: Style): string {
  const rows = found.map(({ target, role, ok, connect_ms, latency_ms, version, ...rest }) => [
    target,
    role,
    ok ? 'ok' : 'FAILED',
    milliseconds(connect_ms),
    milliseconds(latency_ms),
    version,
    lag(rest),
    rest.problem && `${rest.problem.message} (${rest.problem.code})`,
  ]);
  return table(['target', 'role', 'state', 'connect', 'latency', 'version', 'lag', 'problem'], rows, style);
}

function milliseconds(ms: number | null): string | null {
  return ms === null ? null : `${ms} ms`;
}

function lag({ lag_ms, lag_bytes }: Pick<Pong, 'lag_ms' | 'lag_bytes'>): string | null {
  const parts = [milliseconds(lag_ms), lag_bytes === null ? null : `${lag_bytes} bytes`];
  return parts.filter((part) => part !== null).join(', ') || null;
}
