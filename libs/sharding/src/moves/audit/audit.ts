import { ShardingError } from '@app/routing';
import { auditShard } from './audit-shard.js';
import { auditTerms, type AuditOptions, type AuditReport, type AuditRequest } from './audit-request.js';
import {
  BEFORE_SHARDS,
  isStart,
  readCursor,
  START,
  writeCursor,
  type AuditPosition,
} from './audit-cursor.js';
import { Found } from './found.js';
import { isKeyScoped } from '../tables/key-scoped-tables.js';
import { onShard, reasonOf, type AuditRun, type Reached } from './audit-run.js';
import { openMoves } from './open-moves.js';
import { Pace } from './pace.js';
import { reading } from './reading.js';
import { withControl } from '../with-mover.js';
import type { MoveFleet } from '../mover.js';

/**
 * Looks for rows that are where their key is not routed, and for what moves have left. Reads only: by shard, table and key, so
 * that an interrupted audit can be gone on with. A shard that cannot be reached is a finding. While `signal` has fired the report
 * says how far it came.
 *
 * @throws ShardingError `invalid_options`, `invalid_cursor`, `unknown_shard`; the driver's error where the control database
 *   cannot be asked
 */
export async function audit(
  request: AuditRequest,
  fleet: MoveFleet,
  { signal = new AbortController().signal, progress }: AuditOptions,
): Promise<AuditReport> {
  const terms = auditTerms(request, fleet.topology);
  const began = request.after === undefined ? START : readCursor(request.after, terms.shards);
  const pace = new Pace(terms.throttle, signal);
  const parts = {
    fleet,
    terms,
    signal,
    pace,
    found: new Found(),
    silent: new Set<string>(),
    tables: new Map(),
  };
  let position: AuditPosition | undefined = began;
  const reached: Reached = (now) => {
    position = now;
    progress?.({ shard: now.shard, table: now.table ?? '', keys: pace.keys, cursor: writeCursor(now) });
  };
  try {
    await withControl(fleet, { signal }, (control) => auditFrom(began, { ...parts, control }, reached));
    position = undefined;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return report(parts, position);
}

async function auditFrom(began: AuditPosition, run: AuditRun, reached: Reached): Promise<void> {
  const { control, terms, found } = run;
  if (isStart(began)) {
    found.add(await openMoves(control, terms.shards));
    reached(BEFORE_SHARDS);
  }
  const first =
    Math.max(0, terms.shards.indexOf(began.shard)) + (began.shard !== '' && began.table === null ? 1 : 0);
  for (const shard of terms.shards.slice(first)) {
    await auditOne(run, { shard, from: shard === began.shard ? began : undefined }, reached);
    reached({ shard, table: null, key: null });
  }
  if (isStart(began)) assertSomethingToAudit(run);
}

interface Start {
  readonly shard: string;
  readonly from: AuditPosition | undefined;
}

/** What stops the audit of a shard stops no other one, unless control is gone. */
async function auditOne(run: AuditRun, { shard, from }: Start, reached: Reached): Promise<void> {
  try {
    await onShard(run, shard, (session) => auditShard({ ...run, shard, session }, from, reached));
  } catch (error) {
    if (run.signal.aborted) throw error;
    await reading(run.control, () => run.control.client.query('select'));
    run.silent.add(shard);
    run.found.add([
      {
        kind: 'unreachable',
        severity: 'error',
        shard,
        message: `${shard} was not looked at, or not to the end: ${reasonOf(error)}`,
        remedy: `see shardctl ping, then: shardctl audit --shard ${shard}`,
      },
    ]);
  }
}

/** A mistyped column would look like a clean fleet. @throws ShardingError `invalid_options` */
function assertSomethingToAudit({ tables, found, terms }: AuditRun): void {
  if (
    found.counts.unreachable > 0 ||
    [...tables.values()].some((own) => own.some((table) => !isKeyScoped(table)))
  )
    return;
  throw new ShardingError(
    'invalid_options',
    `no table of ${terms.shards.join(', ')} has a column ${JSON.stringify(terms.keyColumn)}: name the key column (--key-column)`,
  );
}

function report(
  { terms, found, pace }: Pick<AuditRun, 'terms' | 'found' | 'pace'>,
  position: AuditPosition | undefined,
): AuditReport {
  const { shards, samplePercent, keyColumn, keyKind } = terms;
  return {
    shards,
    samplePercent,
    keyColumn,
    keyKind,
    complete: position === undefined,
    cursor: position && writeCursor(position),
    keys: pace.keys,
    counts: found.counts,
    findings: found.kept,
  };
}
