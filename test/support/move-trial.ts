import { slotOf } from '@app/routing';
import { FaultProxy } from './fault-proxy.js';
import { MovingFleet, type MovingParts } from './moving-fleet.js';
import type { ShardingOptions } from '@app/sharding';
import type { MoveOptions, MoveRecord, Moves } from '@app/sharding/operator';

/** Links of a mover that a test may break. */
export const LINKS = ['source', 'destination', 'control'] as const;
export type Link = (typeof LINKS)[number];

/** Of keys that shard0 owns: the one that moves, and one that must not be touched. */
const [MOVING = '', STAYING = ''] = Array.from({ length: 50 }, (_, index) => `tenant-${index}`).filter(
  (key) => slotOf(key) < 8192,
);
const ROWS = 40;
const FILL = `insert into bookmarks (tenant_id, url) select tenant, 'https://x.test/' || n
  from unnest($1::text[]) as tenant, generate_series(1, ${ROWS}) as n`;
const HELD = `select coalesce(array_agg(bookmarks::text order by id), '{}') as rows from bookmarks where tenant_id = $1`;
const NEIGHBOUR = '7777';

/** One tenant of shard0 that moves to shard1, its neighbours on both, and a proxy on every link of the mover. */
export class MoveTrial {
  readonly moving = MOVING;

  private constructor(
    readonly fleet: MovingFleet,
    readonly proxies: Readonly<Record<Link, FaultProxy>>,
    readonly options: ShardingOptions,
    private readonly before: Readonly<Record<string, readonly string[]>>,
  ) {}

  static async start(parts: MovingParts = {}): Promise<MoveTrial> {
    const fleet = await MovingFleet.create(parts);
    const port = Number(new URL(fleet.control).port);
    const proxies = {
      source: await FaultProxy.start({ port }),
      destination: await FaultProxy.start({ port }),
      control: await FaultProxy.start({ port }),
    };
    await fleet.query(0, FILL, [[MOVING, STAYING]]);
    await fleet.query(1, FILL, [[NEIGHBOUR]]);
    const before = {
      [MOVING]: await held(fleet, 0, MOVING),
      [STAYING]: await held(fleet, 0, STAYING),
      [NEIGHBOUR]: await held(fleet, 1, NEIGHBOUR),
    };
    return new MoveTrial(fleet, proxies, through(fleet, proxies), before);
  }

  get injections(): number {
    return LINKS.reduce((sum, link) => sum + this.proxies[link].injections, 0);
  }

  /** By the links that can be broken. A crashed mover's lease runs out soon. */
  run(work: (moves: Moves) => Promise<MoveRecord>): Promise<MoveRecord> {
    return this.fleet.moves(work, this.options);
  }

  move(options: MoveOptions = {}, request: { readonly writes?: 'fenced' } = {}): Promise<MoveRecord> {
    return this.run((moves) =>
      moves.move(this.fleet.request({ keys: [MOVING], ...request }), { leaseMs: 400, ...options }),
    );
  }

  confirm(options: MoveOptions = {}): Promise<MoveRecord> {
    return this.run((moves) =>
      moves.confirm(this.fleet.request({ keys: [MOVING] }), { leaseMs: 400, ...options }),
    );
  }

  /** Ends every connection of the mover at once, as its death would. */
  async dropAll(): Promise<void> {
    await Promise.all(LINKS.map((link) => this.proxies[link].dropAll()));
  }

  route(shard: 'shard0' | 'shard1'): Promise<void> {
    return this.fleet.pin(MOVING, shard);
  }

  /** Puts everything back as it was at the start. */
  async reset(): Promise<void> {
    await this.route('shard0');
    await this.fleet.query('control', 'truncate _sharding_moves, _sharding_move_subjects');
    for (const place of [0, 1]) {
      await this.fleet.query(place, 'truncate _sharding_move_sides');
      await this.fleet.query(place, 'truncate _sharding_fence');
    }
    if ((await held(this.fleet, 0, MOVING)).length === 0) {
      await this.fleet.query(
        0,
        'insert into bookmarks select (row::bookmarks).* from unnest($1::text[]) as row',
        [this.before[MOVING]],
      );
    }
    await this.fleet.query(1, 'delete from bookmarks where tenant_id = $1', [MOVING]);
  }

  /** How many of the tenant's rows each shard holds; fails where a row is lost, changed, or somebody else's was touched. */
  async counts(): Promise<[source: number, destination: number]> {
    const [source, destination] = [await held(this.fleet, 0, MOVING), await held(this.fleet, 1, MOVING)];
    const whole = JSON.stringify(this.before[MOVING]);
    const holders = [source, destination].filter((rows) => JSON.stringify(rows) === whole);
    const partial = [source, destination].filter((rows) => rows.length > 0 && JSON.stringify(rows) !== whole);
    if (holders.length === 0) throw new Error('rows are lost');
    if (partial.length > 0) throw new Error('a shard holds a part of the rows');
    for (const [place, tenant] of [
      [0, STAYING],
      [1, NEIGHBOUR],
    ] as const) {
      const now = JSON.stringify(await held(this.fleet, place, tenant));
      if (now !== JSON.stringify(this.before[tenant])) throw new Error(`rows of ${tenant} were touched`);
    }
    return [source.length, destination.length];
  }

  async dispose(): Promise<void> {
    for (const link of LINKS) await this.proxies[link].dispose();
  }
}

async function held(fleet: MovingFleet, place: number, tenant: string): Promise<string[]> {
  const [row] = await fleet.query(place, HELD, [tenant]);
  return row?.['rows'] as string[];
}

function through(fleet: MovingFleet, proxies: Readonly<Record<Link, FaultProxy>>): ShardingOptions {
  const { database } = fleet.options;
  const [source, destination] = fleet.shards.map((url, index) =>
    (index === 0 ? proxies.source : proxies.destination).url(url),
  );
  const urls = [source, destination];
  return {
    ...fleet.options,
    database: {
      ...database,
      connectTimeoutMs: 2000,
      primaryUrl: proxies.control.url(fleet.control),
      shards: (database?.shards ?? []).map((shard, index) => ({ ...shard, primaryUrl: urls[index] ?? '' })),
    },
  };
}
