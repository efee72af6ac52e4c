import { ShardingError } from '@app/routing';
import type PgBoss from 'pg-boss';

export type PgBossClass = typeof PgBoss;

/** An optional peer: loaded where jobs are used. @throws ShardingError `invalid_options` where it is not installed */
export async function loadPgBoss(
  load: () => Promise<{ default: PgBossClass }> = () => import('pg-boss'),
): Promise<PgBossClass> {
  try {
    return (await load()).default;
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new ShardingError('invalid_options', 'JobsModule needs pg-boss: npm install pg-boss@^10.4.2');
  }
}
