import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { migrate, resolveOptions } from '@app/sharding';
import { slotOf } from '@app/routing';
import { TestCluster } from '@test/support';

interface GoldenVectors {
  readonly string: Readonly<Record<string, number>>;
  readonly integer: Readonly<Record<string, number>>;
}

const vectors = new URL('../../../libs/routing/spec/golden-vectors.json', import.meta.url);
const golden = JSON.parse(readFileSync(vectors, 'utf8')) as GoldenVectors;
const cluster = TestCluster.attach();
let database: string;

beforeAll(async () => {
  const url = await cluster.createDatabase({ label: 'slots' });
  database = new URL(url).pathname.slice(1);
  await migrate(resolveOptions({ database: { primaryUrl: url } }), () => undefined);
});

async function slots(type: 'text' | 'bigint' | 'uuid', keys: readonly string[]): Promise<(number | null)[]> {
  const call = type === 'uuid' ? '_sharding_slot_of' : '_sharding_slot';
  const sql = `select ${call}(key) as slot from unnest($1::${type}[]) with ordinality as k(key, n) order by n`;
  const rows = await cluster.query(sql, [keys], database);
  return rows.map(({ slot }) => slot as number | null);
}

it('agrees with the golden vectors', async () => {
  expect(await slots('text', Object.keys(golden.string))).toEqual(Object.values(golden.string));
  expect(await slots('bigint', Object.keys(golden.integer))).toEqual(Object.values(golden.integer));
});

it('agrees with slotOf on any text', async () => {
  const key = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replaceAll('\0', '0'));
  await fc.assert(
    fc.asyncProperty(fc.array(key, { minLength: 100, maxLength: 200 }), async (keys) =>
      expect(await slots('text', keys)).toEqual(keys.map((each) => slotOf(each))),
    ),
    { numRuns: 50 },
  );
});
