import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runOnce } from '../../support/admin-query.js';
import { seededPick } from '../../support/seeded-random.js';
import { TestCluster } from '../../support/test-cluster.js';
import { CellSide, HOSTILE, KINDS, TABLE, type Cell } from './corrupted-cells.js';

/** The proof finds every changed cell, and no other (P4). The oracle is what the server sends of a cell in binary. */
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const CORRUPTIONS = 5000;
const CLEAN = 500;
const ROWS = 8;

let here: CellSide;
let there: CellSide;
let cells: number[][];
const pick = seededPick(SEED);
const kinds = Object.values(KINDS);

beforeAll(async () => {
  const cluster = TestCluster.attach();
  const urls = [
    await cluster.createDatabase({ label: 'here' }),
    await cluster.createDatabase({ label: 'there' }),
  ];
  for (const url of urls) for (const statement of TABLE) await runOnce(url, statement);
  const name = new URL(urls[1]!).pathname.slice(1);
  for (const [setting, value] of HOSTILE) {
    await runOnce(urls[1]!, `alter database "${name}" set ${setting} = '${value}'`);
  }
  here = await CellSide.open(urls[0]!);
  there = await CellSide.open(urls[1]!);
  cells = Array.from({ length: ROWS }, () => kinds.map((values) => pick(values.length + 1) - 1));
  await here.fill(cells);
  await there.fill(cells);
});

afterAll(async () => {
  await here.close();
  await there.close();
});

it(`finds each of ${CORRUPTIONS} changed cells of 16 kinds (FAULT_SEED=${SEED})`, async () => {
  let changed = 0;
  let attempts = 0;
  const kindsChanged = new Set<number>();
  while (changed < CORRUPTIONS) {
    if (++attempts > 4 * CORRUPTIONS) throw new Error('too few changes are changes');
    const cell = pickCell();
    await there.begin();
    const before = await there.bytes(cell);
    await there.change(cell);
    const differs = (await there.bytes(cell)) !== before;
    const found = !(await here.equals(there, attempts % 100 === 0 ? 'anew' : 'cached'));
    await there.rollback();
    if (found !== differs)
      throw new Error(`${JSON.stringify(cell)} of ${Object.keys(KINDS)[cell.kind]}: ${found}`);
    if (!differs) continue;
    changed++;
    kindsChanged.add(cell.kind);
  }
  expect(changed).toBe(CORRUPTIONS);
  expect(kindsChanged.size).toBe(16);
}, 120_000);

it(`raises no false alarm in ${CLEAN} comparisons under hostile settings`, async () => {
  for (let comparison = 0; comparison < CLEAN; comparison++) {
    if (!(await here.equals(there))) throw new Error('equal rows were found different');
  }
  expect(await here.equals(there)).toBe(true);
});

function pickCell(): Cell {
  const kind = pick(kinds.length);
  return { row: pick(ROWS), kind, value: pick((kinds[kind]?.length ?? 0) + 1) - 1 };
}
