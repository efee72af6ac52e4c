import { Logger } from '../logger.js';
import { assertRoutingKey, ShardingError } from '@app/routing';
import { REVISION } from './directory-statements.js';
import { assertShort } from './pin-key.js';
import { LIST, PIN, PIN_PLACED, PLACE, SIGN, SIGNED, UNPIN, UNPIN_PLACED } from './pin-statements.js';
import type { EntityManager } from 'typeorm';
import type { ShardSelector } from '@app/routing';
import type { Control } from '../shards/control.js';
import type { DirectoryConnection } from './directory-connection.js';

/** Who changes a pin, why, and in which transaction. */
export interface PinOptions {
  /** Why, in `_sharding_placement_log`; kept with the row. Default: the row keeps the note that it has. */
  readonly note?: string;
  /** Who, in `_sharding_placement_log`. Default: the login of the application. */
  readonly by?: string;
  /** The caller's transaction on the control database: nothing changes unless it commits. Default: one of its own. */
  readonly manager?: EntityManager;
}

/** The group of a new key, or what the `ShardSelector` decides by. */
export type PlaceOptions = PinOptions & ({ readonly group: number } | { readonly attributes: unknown });

/** One row of the directory. */
export interface PinEntry {
  readonly key: string;
  readonly shard: string | undefined;
  readonly group: number | undefined;
  readonly note: string | undefined;
  readonly updatedAt: Date;
}

export interface ListOptions {
  /** The last key of the page before. */
  readonly after?: string;
  /** Default 1000. */
  readonly limit?: number;
}

interface PinsParts {
  readonly control: Control | undefined;
  readonly connection: DirectoryConnection;
  readonly selector: ShardSelector<unknown> | undefined;
  /** Where the rows are obeyed: by a directory of this application, or `elsewhere`, in others. Default: `here`. */
  readonly obeyed?: 'here' | 'elsewhere';
}

const PAGE = 1000;
/** How long a change waits until this process routes by it. */
const APPLIED_MS = 1000;

/**
 * Writes the directory. A change takes effect in every process within milliseconds; in this one before the call returns,
 * where it was not made in a transaction of the caller. Pinning a key does **not** move the rows that it has already:
 * move them first.
 */
export class Pins {
  readonly #logger = new Logger('pins');
  #warned = false;

  constructor(private readonly parts: PinsParts) {}

  /**
   * Pins a key to a shard of its group. Where no `DirectoryRouter` is in use the log says that nobody routes by it.
   *
   * @throws ShardingError `unknown_shard`, `invalid_routing_key`; `residency_violation` for a shard outside the key's group
   */
  async pin(key: string, shard: string, options: PinOptions = {}): Promise<void> {
    assertPinnable(key);
    const { topology, groupOf } = this.parts.connection.rules;
    const { group } = topology.byName(shard);
    const stated = groupOf?.(key);
    if (stated !== undefined && stated !== group) {
      throw outside(`shard "${shard}" is in group ${group}, and groupOf says group ${stated}`);
    }
    await this.#write(options, async (manager) => {
      const values = [key, shard, options.note ?? null, group];
      const own = (stated ?? 0) === group; // also without a row that says so
      const written = own ? await inserted(manager, PIN, values) : await changed(manager, PIN_PLACED, values);
      if (!written) throw outside(`shard "${shard}" is in group ${group}, where nothing has placed the key`);
    });
    this.#warnUnobeyed();
    this.#audit(
      `${JSON.stringify(key)} is pinned to ${shard}; rows that it has elsewhere were not moved`,
      options,
    );
  }

  /** Takes a pin away; the key keeps its group. @returns whether there was one */
  async unpin(key: string, options: PinOptions = {}): Promise<boolean> {
    assertPinnable(key);
    const found = await this.#write(options, async (manager) => {
      const kept = await changed(manager, UNPIN_PLACED, [key, options.note ?? null]);
      return (await changed(manager, UNPIN, [key])) || kept;
    });
    const rows = 'rows on the shard that it was pinned to were not moved';
    if (found) this.#audit(`${JSON.stringify(key)} is not pinned any more; ${rows}`, options);
    return found;
  }

  /**
   * Says at its creation to which group a key belongs, which is for ever: data does not change its group by a row.
   *
   * @returns the group
   * @throws ShardingError `out_of_topology` for a group without shards; `residency_violation` where the key is in another
   *   group; `invalid_topology` where no `DirectoryRouter` is in use, which alone routes by that row; `invalid_options` for
   *   attributes without a `shardSelector`
   */
  async place(key: string, options: PlaceOptions): Promise<number> {
    assertPinnable(key);
    const { topology, groupOf } = this.parts.connection.rules;
    const group = await this.#groupFor(options);
    const shards = topology.shardsOfGroup(group).map(({ name }) => name);
    const stated = groupOf?.(key);
    if (stated !== undefined && stated !== group) throw outside(`groupOf says group ${stated}, not ${group}`);
    if ((stated ?? 0) !== group && !this.#obeyed) throw unobeyed(group);
    await this.#write(options, async (manager) => {
      const values = [key, group, options.note ?? null, shards];
      if (await inserted(manager, PLACE, values)) return;
      throw outside(`the directory has it elsewhere than in group ${group}, which is for ever`);
    });
    this.#audit(`${JSON.stringify(key)} is placed in group ${group}`, options);
    return group;
  }

  /** One page of the directory, by key. */
  async list({ after, limit = PAGE }: ListOptions = {}): Promise<PinEntry[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > 10 * PAGE) {
      throw new ShardingError('invalid_options', `limit is a whole number from 1 to ${10 * PAGE}`);
    }
    const rows = await this.#control.dataSource.query<ListedRow[]>(LIST, [after ?? null, limit]);
    return rows.map((row) => ({
      key: row.routing_key,
      shard: row.shard_name ?? undefined,
      group: row.group_id ?? undefined,
      note: row.note ?? undefined,
      updatedAt: row.updated_at,
    }));
  }

  get #control(): Control {
    const { control } = this.parts;
    if (control) return control;
    throw new ShardingError('invalid_topology', 'pins need a control database: set [database] primary_url');
  }

  get #obeyed(): boolean {
    const { connection, obeyed } = this.parts;
    return obeyed === 'elsewhere' || connection.opened.length > 0;
  }

  #warnUnobeyed(): void {
    if (this.#obeyed || this.#warned) return;
    this.#warned = true;
    this.#logger.warn(`no DirectoryRouter is in use here: nobody routes by the pins; ${ENABLE}`);
  }

  async #groupFor(options: PlaceOptions): Promise<number> {
    if ('group' in options) return options.group;
    const { selector } = this.parts;
    if (selector) return selector.groupOf(options.attributes);
    throw new ShardingError(
      'invalid_options',
      'place() by attributes needs a ShardSelector: forRoot({ shardSelector })',
    );
  }

  async #write<T>(options: PinOptions, work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const { manager } = options;
    const source = this.#control.dataSource;
    if (manager) {
      if (manager.connection === source && manager.queryRunner?.isTransactionActive) {
        return signed(manager, options, work);
      }
      throw new ShardingError('invalid_options', 'manager must be in a transaction on the control database');
    }
    const [value, revision] = await source.transaction(async (own) => {
      const result = await signed(own, options, work);
      const [row] = await own.query<{ revision: string }[]>(REVISION);
      return [result, Number(row?.revision)] as const;
    });
    await this.#applied(revision);
    return value;
  }

  #audit(what: string, { by, note, manager }: PinOptions): void {
    const who = by ? JSON.stringify(by) : 'the application';
    const why = note ? `: ${JSON.stringify(note)}` : '';
    const when = manager ? ', once the transaction of its caller commits' : '';
    this.#logger.log(`${what} (by ${who}${why}${when})`);
  }

  async #applied(revision: number): Promise<void> {
    const ends = performance.now() + APPLIED_MS;
    const { opened } = this.parts.connection;
    const known = await Promise.all(opened.map(({ directory }) => directory.reaches(revision, ends)));
    if (known.every(Boolean)) return;
    this.#logger.warn(
      `revision ${revision} of the directory is committed, and other processes route by it; this one does not know it yet`,
    );
  }
}

interface ListedRow {
  readonly routing_key: string;
  readonly shard_name: string | null;
  readonly group_id: number | null;
  readonly note: string | null;
  readonly updated_at: Date;
}

/** Says who and why while `work` runs. What the caller has set for its transaction holds where nothing is said here. */
async function signed<T>(
  manager: EntityManager,
  { by, note }: PinOptions,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  const [before] = await manager.query<{ actor: string; reason: string }[]>(SIGNED);
  const { actor = '', reason = '' } = before ?? {};
  await manager.query(SIGN, [by || actor, note || reason]);
  try {
    return await work(manager);
  } finally {
    await manager.query(SIGN, [actor, reason]).catch(() => undefined); // after a failed statement there is nothing to sign
  }
}

async function inserted(manager: EntityManager, sql: string, values: unknown[]): Promise<boolean> {
  return (await manager.query<unknown[]>(sql, values)).length > 0;
}

/** Whether an UPDATE or a DELETE has found its row. */
async function changed(manager: EntityManager, sql: string, values: unknown[]): Promise<boolean> {
  const [, rows] = await manager.query<[unknown, number]>(sql, values);
  return rows > 0;
}

function assertPinnable(key: string): void {
  assertRoutingKey(key);
  if (typeof key !== 'string') {
    throw new ShardingError('invalid_routing_key', 'the directory has rows for strings only');
  }
  assertShort(key);
}

const ENABLE = 'set [database] directory_shard_router = true, or give a router that asks a DirectoryRouter';

function unobeyed(group: number): ShardingError {
  return new ShardingError(
    'invalid_topology',
    `no DirectoryRouter is in use, so that nobody would keep the key in group ${group}: ${ENABLE}`,
  );
}

function outside(why: string): ShardingError {
  return new ShardingError('residency_violation', `the key is not allowed to live there: ${why}`);
}
