import { execFile } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { waitFor } from '@test/support';
import pg from 'pg';
import { MovingFleet } from '../support/moving-fleet.js';
import { seededPick } from '../support/seeded-random.js';

/**
 * Writers go on while their tenant moves, in each isolation level, by raw SQL. A separate process checks what they were told:
 * each acknowledged write is on exactly one shard (P2, P3).
 */
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const LEVELS = ['read committed', 'repeatable read', 'serializable'] as const;
const ENTRIES = [
  `create table entries (name text primary key, tenant_id text not null, version int not null)`,
  'create index on entries (tenant_id)',
];
const MOVED = 'SHM01';
/** Serialization failure, deadlock, unique violation, by a row that the writer has and has not heard of. */
const AGAIN = new Set(['40001', '40P01']);
const PER_LEVEL = 2;
const [acme = ''] = Array.from({ length: 50 }, (_, index) => `tenant-${index}`).filter(
  (key) => slotOf(key) < 8192,
);

it(`loses no acknowledged write of ${LEVELS.length * PER_LEVEL} writers (FAULT_SEED=${SEED})`, async () => {
  const fleet = await MovingFleet.create({ tables: ENTRIES });
  const file = join(tmpdir(), `history-${process.pid}-${SEED}.jsonl`);
  const stop = new AbortController();
  const writers = LEVELS.flatMap((level) =>
    Array.from(
      { length: PER_LEVEL },
      (_, index) => new Writer({ fleet, file, level, index, signal: stop.signal }),
    ),
  );
  const ends = writers.map((writer) => writer.run());
  const allWrite = (shard: number) => async () =>
    writers.every((writer) => (writer.acknowledged[shard] ?? 0) >= 20);
  try {
    await waitFor(allWrite(0), { what: 'every writer to write at the source', timeoutMs: 20_000 });
    const move = await fleet.move({ keys: [acme], writes: 'fenced' });
    expect(move.state).toBe('verified');
    await fleet.pin(acme, 'shard1');
    await waitFor(allWrite(1), { what: 'every writer to write at the destination', timeoutMs: 20_000 });
    expect(await fleet.confirm({ keys: [acme] })).toMatchObject({ state: 'purged' });
  } finally {
    stop.abort();
    await Promise.all(ends);
  }
  const refused = writers.map((writer) => writer.refused);
  expect(refused.every((count) => count > 0)).toBe(true);
  expect(await check(file, fleet.shards)).toEqual({
    acknowledged: writers.reduce((sum, { acknowledged: [a = 0, b = 0] }) => sum + a + b, 0),
    lost: [],
    doubled: [],
    revived: [],
  });
  expect(await fleet.query(0, 'select name from entries')).toEqual([]);
  await rm(file);
}, 60_000);

async function check(file: string, urls: readonly string[]): Promise<unknown> {
  const script = resolve('test/support/history-check.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, file, ...urls], {
    timeout: 20_000,
  });
  return JSON.parse(stdout);
}

interface WriterParts {
  readonly fleet: MovingFleet;
  readonly file: string;
  readonly level: (typeof LEVELS)[number];
  readonly index: number;
  readonly signal: AbortSignal;
}

interface Entry {
  readonly name: string;
  version: number;
}

/** Inserts, changes and deletes entries of its own, at the shard that the directory names; asks again where it is refused. */
class Writer {
  /** By shard. */
  readonly acknowledged = [0, 0];
  refused = 0;
  readonly #clients: pg.Client[] = [];
  readonly #pick: (below: number) => number;
  readonly #entries: Entry[] = [];
  #shard = 0;
  #made = 0;

  constructor(private readonly parts: WriterParts) {
    this.#pick = seededPick(SEED + parts.index + 10 * LEVELS.indexOf(parts.level));
  }

  async run(): Promise<void> {
    for (const url of this.parts.fleet.shards) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      this.#clients.push(client);
    }
    try {
      while (!this.parts.signal.aborted) await this.#write();
    } finally {
      for (const client of this.#clients) await client.end();
    }
  }

  async #write(): Promise<void> {
    const known = this.#entries.length > 0 ? this.#pick(3) : 0;
    const entry =
      known === 0 ? { name: this.#name(), version: 1 } : this.#entries[this.#pick(this.#entries.length)]!;
    const act = (['insert', 'update', 'delete'] as const)[known]!;
    const version = act === 'insert' ? 1 : entry.version + 1;
    const shard = await this.#until(
      statementOf(act),
      act === 'delete' ? [entry.name] : [entry.name, version],
    );
    if (shard === undefined) return;
    this.acknowledged[shard] = (this.acknowledged[shard] ?? 0) + 1;
    if (act === 'insert') this.#entries.push(entry);
    if (act === 'delete') this.#entries.splice(this.#entries.indexOf(entry), 1);
    entry.version = version;
    await appendFile(this.parts.file, `${JSON.stringify({ name: entry.name, version, act })}\n`);
  }

  #name(): string {
    return `${this.parts.level}/${this.parts.index}/${this.#made++}`;
  }

  /** @returns the shard that has acknowledged it; undefined: the writer was stopped */
  async #until(sql: string, values: readonly unknown[]): Promise<number | undefined> {
    while (!this.parts.signal.aborted) {
      const code = await this.#transaction(sql, values);
      if (code === undefined) return this.#shard;
      if (code === MOVED) {
        this.refused++;
        await pause(5);
        this.#shard = await this.#routed();
      } else if (!AGAIN.has(code)) throw new Error(`a writer failed with ${code}`);
    }
    return undefined;
  }

  async #transaction(sql: string, values: readonly unknown[]): Promise<string | undefined> {
    const client = this.#clients[this.#shard]!;
    try {
      await client.query(`begin isolation level ${this.parts.level}`);
      await client.query('select count(*) from entries where tenant_id = $1', [acme]); // the snapshot is taken here
      const { rowCount } = await client.query(sql.replace('$tenant', `'${acme}'`), [...values]);
      if (rowCount !== 1) throw new Error('the row of an acknowledged write is not there');
      await client.query('commit');
      return undefined;
    } catch (error) {
      await client.query('rollback');
      const { code } = error as { code?: string };
      if (code === undefined) throw error;
      return code;
    }
  }

  async #routed(): Promise<number> {
    const [pin] = await this.parts.fleet.query(
      'control',
      'select shard_name as shard from _sharding_directory where routing_key = $1',
      [acme],
    );
    return pin?.['shard'] === 'shard1' ? 1 : 0;
  }
}

function statementOf(act: 'insert' | 'update' | 'delete'): string {
  if (act === 'insert') return 'insert into entries (name, tenant_id, version) values ($1, $tenant, $2)';
  if (act === 'update') return 'update entries set version = $2 where name = $1';
  return 'delete from entries where name = $1';
}
