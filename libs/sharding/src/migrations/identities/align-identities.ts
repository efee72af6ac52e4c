import pg from 'pg';
import { columnName, type IdentityColumn } from './read-identities.js';
import { RECORD } from './recorded.js';
import type { QueryRunner } from 'typeorm';
import type { Step } from '../apply-migration.js';
import type { IdentityPlan } from './assign-ordinals.js';

/** Notes on the shard which ids are its own. */
export function recordStep(shard: string, { ordinal, stride }: IdentityPlan): Step {
  return {
    name: 'the ordinal of the shard',
    transaction: 'own',
    async run(runner) {
      await runner.query(RECORD, [shard, ordinal, stride]);
    },
  };
}

export function alignStep(column: IdentityColumn, plan: IdentityPlan): Step {
  return {
    name: `the ids of ${columnName(column)}`,
    transaction: 'own',
    run: (runner) => alignIdentity(runner, column, plan),
  };
}

/**
 * Lets a sequence go on with the shard's own ids, above all that it has given and all that are stored; never lower. Inside a
 * transaction: to change the sequence is to wait for those who use it, and to keep others from it until the commit.
 */
export async function alignIdentity(
  runner: QueryRunner,
  column: IdentityColumn,
  { ordinal, stride }: IdentityPlan,
): Promise<void> {
  const { sequence } = column;
  await runner.query(`alter sequence ${sequence} as bigint increment by ${stride}`);
  const [row] = (await runner.query(
    `with used as (
        select greatest(case when is_called then last_value else last_value - 1 end, ${await largest(runner, column)}) as value,
          (select seqmin from pg_sequence where seqrelid = $3::regclass) as least
        from ${sequence})
      select (value + 1 + ((($1 - value - 1) % $2) + $2) % $2)::text as next,
        (least + ((($1 - least) % $2) + $2) % $2)::text as start
      from used`,
    [ordinal + 1, stride, sequence],
  )) as { next: string; start: string }[];
  if (row) await runner.query(`alter sequence ${sequence} start with ${row.start} restart with ${row.next}`);
}

/** Where policies hide rows from this role, the sequence alone tells. */
async function largest(runner: QueryRunner, { table, column }: IdentityColumn): Promise<string> {
  const [row] = (await runner.query('select row_security_active($1::regclass) as hidden', [table])) as {
    hidden: boolean;
  }[];
  if (row?.hidden) return '0';
  return `coalesce((select max(${pg.escapeIdentifier(column)}) from ${table}), 0)`;
}
