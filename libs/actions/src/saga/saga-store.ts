import type { ShardDb } from '@app/sharding';
import type { EventKey } from '../outbox/event-key.js';
import type { SagaProgress, SagaState, StepProgress } from './saga-progress.js';

/** A row of `_sharding_saga`. */
export interface StoredSaga extends EventKey {
  readonly sagaId: string;
  readonly name: string;
  readonly data: unknown;
  readonly progress: SagaProgress;
  /** Why it was turned round, or is stuck; never content. */
  readonly failure: string | undefined;
  readonly startedAt: Date;
  /** By the clock of its shard, when it was read. */
  readonly now: Date;
}

export type NewSaga = Pick<StoredSaga, 'sagaId' | 'name' | 'routingKey' | 'keyKind' | 'data' | 'progress'>;

interface SagaRow {
  readonly saga_id: string;
  readonly name: string;
  readonly routing_key: string | null;
  readonly key_kind: 'text' | 'integer';
  readonly state: SagaState;
  readonly data: unknown;
  readonly steps: Record<string, StepProgress>;
  readonly failure: string | null;
  readonly started_at: Date;
  readonly now: Date;
}

const COLUMNS =
  'saga_id, name, routing_key, key_kind, state, data, steps, failure, started_at, clock_timestamp() as now';

/** A saga without its data. */
export type SagaHead = Omit<StoredSaga, 'data' | 'progress' | 'now'> & { readonly state: SagaState };

/** Which sagas. */
export interface SagaChoice {
  readonly states: readonly SagaState[];
  /** Of each shard. */
  readonly limit: number;
}

/** The oldest first. */
export async function listSagas(db: ShardDb, { states, limit }: SagaChoice): Promise<SagaHead[]> {
  return db.query<SagaHead[]>(
    `select saga_id as "sagaId", name, routing_key as "routingKey", state, failure, started_at as "startedAt"
    from _sharding_saga where state = any ($1) order by started_at, saga_id limit $2`,
    [states, limit],
  );
}

/** The clock of a shard. */
export async function clockOf(db: ShardDb): Promise<Date> {
  const [row] = await db.query<{ now: Date }[]>('select clock_timestamp() as now');
  return row?.now ?? new Date();
}

/** False where a saga with this id is there already: it is left as it is. */
export async function insertSaga(tx: ShardDb, { progress, ...saga }: NewSaga): Promise<boolean> {
  const rows = await tx.query(
    `insert into _sharding_saga (saga_id, name, routing_key, key_kind, state, data, steps)
    values ($1, $2, $3, $4, $5, $6, $7) on conflict (saga_id) do nothing returning saga_id`,
    [
      saga.sagaId,
      saga.name,
      saga.routingKey ?? null,
      saga.keyKind ?? 'text',
      progress.state,
      JSON.stringify(saga.data),
      JSON.stringify(progress.steps),
    ],
  );
  return rows.length > 0;
}

export async function readSaga(db: ShardDb, sagaId: string): Promise<StoredSaga | undefined> {
  return stored(
    await db.query<SagaRow[]>(`select ${COLUMNS} from _sharding_saga where saga_id = $1`, [sagaId]),
  );
}

/** The same, for a change in this transaction. */
export async function lockSaga(tx: ShardDb, sagaId: string): Promise<StoredSaga | undefined> {
  return stored(
    await tx.query<SagaRow[]>(`select ${COLUMNS} from _sharding_saga where saga_id = $1 for update`, [
      sagaId,
    ]),
  );
}

/** @param failure kept as it was where absent */
export async function updateSaga(
  tx: ShardDb,
  sagaId: string,
  { progress, failure }: { progress: SagaProgress; failure?: string | undefined },
): Promise<void> {
  await tx.query(
    `update _sharding_saga set state = $2, steps = $3, failure = coalesce($4, failure),
      version = version + 1, changed_at = now() where saga_id = $1`,
    [sagaId, progress.state, JSON.stringify(progress.steps), failure ?? null],
  );
}

function stored([row]: readonly SagaRow[]): StoredSaga | undefined {
  if (!row) return undefined;
  return {
    sagaId: row.saga_id,
    name: row.name,
    routingKey: row.routing_key ?? undefined,
    ...(row.key_kind === 'integer' && { keyKind: row.key_kind }),
    data: row.data,
    progress: { state: row.state, steps: row.steps },
    failure: row.failure ?? undefined,
    startedAt: row.started_at,
    now: row.now,
  };
}
