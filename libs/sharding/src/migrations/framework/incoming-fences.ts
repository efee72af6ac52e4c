import { FENCED, truncateGuard } from './fence-tables.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const KNOWN = 'constraint state_is_known check (state in';

/** Keys that come to a shard (incoming) are refused there until their rows have arrived, by TRUNCATE too. */
export class IncomingFences implements MigrationInterface {
  readonly name = 'IncomingFences1797000000009';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table _sharding_fence drop constraint state_is_known,
      add ${KNOWN} ('fenced', 'moved', 'kept', 'incoming'))`);
    await runner.query(truncateGuard(await schemaOf(runner), `${FENCED} or state = 'incoming'`));
    await runner.query(comment('because they live elsewhere (moved), until their rows have come (incoming)'));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`delete from _sharding_fence where state = 'incoming'`);
    await runner.query(
      `alter table _sharding_fence drop constraint state_is_known, add ${KNOWN} ('fenced', 'moved', 'kept'))`,
    );
    await runner.query(truncateGuard(await schemaOf(runner), FENCED));
    await runner.query(comment('because they live elsewhere (moved)'));
  }
}

function comment(refused: string): string {
  return `comment on table _sharding_fence is
    'Keys and slots whose writes are refused: for a while (fenced), ${refused}, and the exceptions of a slot (kept). Written by the mover.'`;
}

async function schemaOf(runner: QueryRunner): Promise<string> {
  const [found] = (await runner.query('select quote_ident(current_schema()) as schema')) as {
    schema: string;
  }[];
  return found?.schema ?? 'public';
}
