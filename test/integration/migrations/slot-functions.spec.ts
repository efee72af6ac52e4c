import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { slotOf } from '@app/routing';
import { TestCluster } from '@test/support';
import { databaseOf, withDatabase } from '../../support/admin-query.js';
import { installControl } from '../../support/control-database.js';
import { ControlTables } from './control-tables.js';

interface GoldenVectors {
  readonly string: Readonly<Record<string, number>>;
  readonly integer: Readonly<Record<string, number>>;
}

const vectors = new URL('../../../libs/routing/spec/golden-vectors.json', import.meta.url);
const golden = JSON.parse(readFileSync(vectors, 'utf8')) as GoldenVectors;
let tables: ControlTables;

beforeAll(async () => {
  tables = await ControlTables.create();
});

type Kind = 'text' | 'bigint' | 'uuid';

async function slots(kind: Kind, keys: readonly string[]): Promise<unknown[]> {
  const call = kind === 'uuid' ? '_sharding_slot_of' : '_sharding_slot';
  const sql = `select ${call}(key) as slot from unnest($1::${kind}[]) with ordinality as k (key, n) order by n`;
  return (await tables.query(sql, [keys])).map(({ slot }) => slot);
}

/** Checks 10,000 keys in a hundred queries. */
function checkMany<T>(key: fc.Arbitrary<T>, check: (keys: T[]) => Promise<void>): Promise<void> {
  const keys = fc.array(key, { minLength: 100, maxLength: 100 });
  return fc.assert(fc.asyncProperty(keys, check), { numRuns: 100, endOnFailure: true });
}

describe('_sharding_slot', () => {
  it('agrees with the golden vectors', async () => {
    expect(await slots('text', Object.keys(golden.string))).toEqual(Object.values(golden.string));
    expect(await slots('bigint', Object.keys(golden.integer))).toEqual(Object.values(golden.integer));
  });

  it('agrees with slotOf on any text', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 }).map((key) => key.replaceAll('\0', '0'));
    await checkMany(text, async (keys) => {
      expect(await slots('text', keys)).toEqual(keys.map((key) => slotOf(key)));
    });
    const long = ['x'.repeat(8192), '🏢'.repeat(2000), `it''s "quoted" \\`, "o'neill", 'ünïcode'];
    expect(await slots('text', long)).toEqual(long.map((key) => slotOf(key)));
  });

  it('agrees with slotOf on any 64-bit integer', async () => {
    const integer = fc.oneof(
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
      fc.maxSafeInteger().map(BigInt),
      fc.integer().map(BigInt),
    );
    await checkMany(integer, async (keys) => {
      expect(await slots('bigint', keys.map(String))).toEqual(keys.map((key) => slotOf(key)));
    });
    const edges = [0n, -1n, 2n ** 31n, 2n ** 32n, -(2n ** 32n), 2n ** 53n, -(2n ** 63n), 2n ** 63n - 1n];
    expect(await slots('bigint', edges.map(String))).toEqual(edges.map((key) => slotOf(key)));
  });

  it('takes text literals as text and integers of any size as integers', async () => {
    const sql = `select _sharding_slot('42') as text, _sharding_slot(42) as int, _sharding_slot(42::smallint) as small,
      _sharding_slot('acme'::varchar) as varchar, _sharding_slot(null::text) as nothing`;
    expect(await tables.query(sql)).toEqual([
      { text: 4643, int: 11925, small: 11925, varchar: 7695, nothing: null },
    ]);
  });

  it('takes the UTF-8 bytes in a database of another encoding', async () => {
    const cluster = TestCluster.attach();
    const name = `latin_${databaseOf(tables.url)}`.slice(0, 63);
    await cluster.query(
      `create database ${name} template template0 encoding 'LATIN1' locale_provider libc locale 'C'`,
    );
    const url = withDatabase(tables.url, name);
    await installControl(url);
    expect(await cluster.query(`select _sharding_slot('café') as slot`, [], name)).toEqual([
      { slot: golden.string['café'] },
    ]);
    await cluster.dropDatabase(url);
  });
});

/** A SlotUuid, unless `change` says otherwise. */
function uuid(slot: number, change: { version?: number; variant?: number; reserved?: number } = {}): string {
  const { version = 8, variant = 2, reserved = 0 } = change;
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  const group = slot & 255;
  const custom = hex((version << 12) | (group << 4) | reserved, 4);
  return `0193a5b7-c000-${custom}-${hex((variant << 14) | slot, 4)}-${hex(slot * 1_000_003, 12)}`;
}

describe('_sharding_slot_of', () => {
  it('reads the slot of a version 8 uuid, all of them', async () => {
    const all = Array.from({ length: 16_384 }, (_, slot) => slot);
    expect(
      await slots(
        'uuid',
        all.map((slot) => uuid(slot)),
      ),
    ).toEqual(all);
  });

  it('is null for any other version, variant or reserved bits', async () => {
    const numbers = (count: number, except: number) =>
      Array.from({ length: count }, (_, value) => value).filter((value) => value !== except);
    const others = [
      ...numbers(16, 8).map((version) => uuid(5, { version })),
      ...numbers(4, 2).map((variant) => uuid(5, { variant })),
      ...numbers(16, 0).map((reserved) => uuid(5, { reserved })),
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ];
    expect(await slots('uuid', others)).toEqual(others.map(() => null));
    expect(await tables.query('select _sharding_slot_of(null) as slot')).toEqual([{ slot: null }]);
  });
});

describe('the three functions', () => {
  it('are immutable, strict and parallel safe', async () => {
    const sql = `select oid::regprocedure::text as function, provolatile, proisstrict, proparallel from pg_proc
      where proname in ('_sharding_slot', '_sharding_slot_of') order by 1`;
    const facts = { provolatile: 'i', proisstrict: true, proparallel: 's' };
    expect(await tables.query(sql)).toEqual([
      { function: '_sharding_slot(bigint)', ...facts },
      { function: '_sharding_slot(text)', ...facts },
      { function: '_sharding_slot_of(uuid)', ...facts },
    ]);
  });

  it('stand in an index, which is used, and in generated columns', async () => {
    await tables.query(`create table orders (id uuid, tenant_id text, account bigint,
      tenant_slot int generated always as (_sharding_slot(tenant_id)) stored,
      account_slot int generated always as (_sharding_slot(account)) stored,
      id_slot int generated always as (_sharding_slot_of(id)) stored)`);
    await tables.query('create index orders_slot on orders ((_sharding_slot(tenant_id)))');
    await tables.query('create index orders_account on orders ((_sharding_slot(account)))');
    await tables.query('create index orders_id on orders ((_sharding_slot_of(id)))');
    await tables.query('insert into orders values ($1, $2, 42)', [uuid(77), 'acme']);
    expect(await tables.query('select tenant_slot, account_slot, id_slot from orders')).toEqual([
      { tenant_slot: 7695, account_slot: 11925, id_slot: 77 },
    ]);
    const plans = await tables.session(async (client) => {
      await client.query('set enable_seqscan = off');
      const conditions = [
        '_sharding_slot(tenant_id) = 1',
        '_sharding_slot(account) = 1',
        '_sharding_slot_of(id) = 1',
      ];
      const found: string[] = [];
      for (const condition of conditions) {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(
          `explain (costs off) select from orders where ${condition}`,
        );
        found.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      }
      return found;
    });
    expect(plans.map((plan) => /using (\w+)|on (orders_\w+)/.exec(plan)?.slice(1).join(''))).toEqual([
      'orders_slot',
      'orders_account',
      'orders_id',
    ]);
  });

  it('mean the same under a hostile search_path', async () => {
    await tables.query('create schema evil');
    await tables.query(`create function evil.get_byte(bytea, int) returns int language sql as 'select 1'`);
    await tables.query(`create function evil.xor(int, int) returns int language sql as 'select 1'`);
    await tables.query('create operator evil.# (function = evil.xor, leftarg = int, rightarg = int)');
    await tables.query(
      `create function evil.xor(bigint, bigint) returns bigint language sql as 'select 1::bigint'`,
    );
    await tables.query('create operator evil.# (function = evil.xor, leftarg = bigint, rightarg = bigint)');
    const found = await tables.session(async (client) => {
      await client.query('set search_path = evil, pg_catalog, public');
      const { rows } = await client.query<Record<string, number>>(
        `select 5 # 4 as shadowed, _sharding_slot('acme') as text, _sharding_slot(42) as int,
          _sharding_slot_of('${uuid(77)}') as id`,
      );
      return rows;
    });
    expect(found).toEqual([{ shadowed: 1, text: 7695, int: 11925, id: 77 }]);
  });
});
