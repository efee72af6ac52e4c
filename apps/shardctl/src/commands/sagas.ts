import { Option } from 'commander';
import { wholeNumber } from '../arguments.js';
import { failureOf } from '../failure.js';
import { printable } from '../output/printable.js';
import { table } from '../output/table.js';
import { UsageError, type Report, type Session, type Verb } from '../verb.js';
import type { SagaHead, SagaState, StoredSagas } from '@app/actions';
import type { Failure } from '../failure.js';

interface SagasOptions {
  readonly state?: SagaState;
  readonly all?: true;
  readonly limit: number;
}

const STATES = ['running', 'compensating', 'completed', 'compensated', 'stuck'] as const;
const OPEN: readonly SagaState[] = ['stuck', 'compensating', 'running'];

export const sagas: Verb<SagasOptions> = {
  name: 'sagas',
  group: 'actions',
  usage: '[resume] [id]',
  summary: 'sagas that have not ended; resume: a stuck one goes on',
  description:
    'Lists sagas by shard, without their data: those that are stuck, compensating or running. A saga is stuck when a compensation ' +
    'keeps failing; mend the cause, then resume it, and a process of the application goes on. Exit code 1 when one is stuck, ' +
    'or a shard cannot be asked.',
  options: () => [
    new Option('--state <state>', 'those in one state').choices(STATES),
    new Option('--all', 'also those that have ended'),
    new Option('--limit <sagas>', 'the oldest ones of each shard')
      .default(100)
      .argParser(wholeNumber(1, 10_000)),
  ],
  examples: [
    ['sagas', 'what is under way, and what is stuck'],
    ['sagas --state stuck --json', 'for a monitor'],
    ['sagas resume 0b8f8f0e-7a53-4c4e-9a55-4b7f0d1b6a11', 'its compensation is tried again'],
  ],
  async run({ args: [what, id], options }, session) {
    if (what === undefined) return list(options, session);
    if (what !== 'resume' || id === undefined || !UUID.test(id)) {
      throw new UsageError('behind sagas stands nothing, or resume and the id of a saga');
    }
    return resume(id, session);
  },
};

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

async function list({ state, all, limit }: SagasOptions, session: Session): Promise<Report> {
  const states = state ? [state] : all ? STATES : OPEN;
  const outcomes = await withSagas(session, (stored) => stored.list({ states, limit }));
  const found = outcomes.flatMap((one) => (one.ok ? one.value.map((saga) => row(one.shard.name, saga)) : []));
  const failures = outcomes.flatMap((one) =>
    one.ok ? [] : [{ shard: one.shard.name, error: failureOf(one.error) }],
  );
  const stuck = found.filter((saga) => saga.state === 'stuck').length;
  const more = outcomes.filter((one) => one.ok && one.value.length === limit).map(({ shard }) => shard.name);
  return {
    json: { sagas: found, failures },
    text: (style) =>
      found.length === 0
        ? `no saga is ${states.join(', ')}`
        : table(
            ['shard', 'saga', 'name', 'state', 'key', 'failure', 'started'],
            found.map((saga) => [
              saga.shard,
              saga.id,
              saga.name,
              saga.state,
              saga.key,
              saga.failure,
              saga.started_at,
            ]),
            style,
          ),
    notes: [...failures.map(failureNote), ...more.map((name) => `there may be more on ${name}: see --limit`)],
    outcome: stuck === 0 && failures.length === 0 ? 'ok' : 'failed',
  };
}

async function resume(id: string, session: Session): Promise<Report> {
  const outcomes = await withSagas(session, (stored) => stored.resume(id));
  const failures = outcomes.flatMap((one) =>
    one.ok ? [] : [{ shard: one.shard.name, error: failureOf(one.error) }],
  );
  const home = outcomes.find((one) => one.ok && one.value !== 'unknown');
  const state = home?.ok ? home.value : 'unknown';
  return {
    json: { id, state, shard: home?.shard.name ?? null, failures },
    text: () => printable(TOLD[state].replace('%', home?.shard.name ?? '')),
    notes: failures.map(failureNote),
    outcome: state === 'resumed' ? 'ok' : 'failed',
  };
}

const TOLD = {
  resumed: 'resumed on %: a process of the application does the compensation',
  not_stuck: 'it is on %, and not stuck: see shardctl sagas --all',
  unknown: 'no shard that could be asked has it',
} as const;

function row(shard: string, saga: SagaHead) {
  return {
    shard,
    id: saga.sagaId,
    name: saga.name,
    state: saga.state,
    key: saga.routingKey ?? null,
    failure: saga.failure ?? null,
    started_at: saga.startedAt.toISOString(),
  };
}

function failureNote({ shard, error }: { readonly shard: string; readonly error: Failure }): string {
  return `shard ${shard}: ${error.message} (${error.code})`;
}

async function withSagas<T>(session: Session, work: (stored: StoredSagas) => Promise<T>): Promise<T> {
  const settings = await session.settings();
  const { withShards } = await import('@app/sharding/operator');
  const { StoredSagas: Stored } = await import('@app/actions');
  return withShards(settings, ({ all }) => work(new Stored(all)));
}
