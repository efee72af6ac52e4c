/** Stages one after the other; the steps of a stage side by side. */
export type SagaStages = readonly (readonly StageStep[])[];

/** What the order of a saga depends on. */
export interface StageStep {
  readonly name: string;
  /** False: there is nothing to undo. */
  readonly compensated: boolean;
}

export const SAGA_STATES = ['running', 'compensating', 'completed', 'compensated', 'stuck'] as const;
export type SagaState = (typeof SAGA_STATES)[number];

/**
 * `asked`: it is to be done, and may have been. `refused` covers a step that failed and one whose time was over: nothing of
 * it was committed, nor will be. `undoing`: its compensation is to be done.
 */
export type StepState = 'waiting' | 'asked' | 'done' | 'refused' | 'undoing' | 'undone';

export interface StepProgress {
  readonly state: StepState;
  /** What the step's action has returned. */
  readonly result?: unknown;
  /** Until when it must be done; of a step that is asked for. By the clock of the saga's shard, ISO 8601. */
  readonly dueAt?: string;
}

/** How far a saga is. Plain data: it is stored as JSON. */
export interface SagaProgress {
  readonly state: SagaState;
  readonly steps: Readonly<Record<string, StepProgress>>;
}

/** What became of a step; it is decided on the shard of the step, once. */
export type StepNews =
  | { readonly step: string; readonly outcome: 'done'; readonly result?: unknown }
  | { readonly step: string; readonly outcome: 'refused' | 'undone' | 'undo_failed' };

/** What is to be done next: the action of a step, or its compensation. */
export interface AskedStep {
  readonly step: string;
  readonly phase: 'do' | 'undo';
}

/** A change of a saga, and what it asks for. */
export interface SagaChange {
  readonly progress: SagaProgress;
  readonly asked: readonly AskedStep[];
}

/** A saga before anything was done: its first stage is asked for. */
export function beginSaga(stages: SagaStages): SagaChange {
  const steps = Object.fromEntries(stages.flat().map(({ name }) => [name, { state: 'waiting' } as const]));
  return onward(stages, { state: 'running', steps });
}

/**
 * Takes news of a step. News that a saga has already heard, or that it did not ask for, change nothing.
 *
 * A refused step turns the saga round: steps that are under way are waited for, then everything done is undone, last stage
 * first. A compensation that fails leaves the saga `stuck`.
 */
export function advanceSaga(stages: SagaStages, progress: SagaProgress, news: StepNews): SagaChange {
  const before = progress.steps[news.step]?.state;
  const undo = news.outcome === 'undone' || news.outcome === 'undo_failed';
  if (before !== (undo ? 'undoing' : 'asked')) return { progress, asked: [] };
  if (news.outcome === 'undo_failed') return { progress: { ...progress, state: 'stuck' }, asked: [] };
  const { result } = progress.steps[news.step] ?? {};
  const told: StepProgress = { ...(result !== undefined && { result }), ...stepAfter(news) };
  const state = news.outcome === 'refused' ? 'compensating' : progress.state;
  return onward(stages, { state, steps: { ...progress.steps, [news.step]: told } });
}

/** Takes a stuck saga up again: asks for the compensations that are not done. */
export function resumeSaga(progress: SagaProgress): SagaChange {
  if (progress.state !== 'stuck') return { progress, asked: [] };
  const undoing = Object.entries(progress.steps).filter(([, { state }]) => state === 'undoing');
  return {
    progress: { ...progress, state: 'compensating' },
    asked: undoing.map(([step]) => ({ step, phase: 'undo' })),
  };
}

/** Says until when the steps of a change must be done. */
export function withDueTimes(change: SagaChange, dueAt: (step: string) => Date): SagaChange {
  const asked = change.asked.filter(({ phase }) => phase === 'do');
  const due = asked.map(({ step }) => [step, { state: 'asked', dueAt: dueAt(step).toISOString() } as const]);
  const steps = { ...change.progress.steps, ...Object.fromEntries(due) };
  return { asked: change.asked, progress: { ...change.progress, steps } };
}

/** Nothing more will happen by itself. */
export function isAtRest({ state }: SagaProgress): boolean {
  return state !== 'running' && state !== 'compensating';
}

function stepAfter(news: StepNews): StepProgress {
  if (news.outcome !== 'done') return { state: news.outcome === 'undone' ? 'undone' : 'refused' };
  return { state: 'done', ...(news.result !== undefined && { result: news.result }) };
}

function onward(stages: SagaStages, progress: SagaProgress): SagaChange {
  if (progress.state === 'running') return forward(stages, progress);
  return progress.state === 'compensating' ? backward(stages, progress) : { progress, asked: [] };
}

function forward(stages: SagaStages, progress: SagaProgress): SagaChange {
  const stage = stages.find((steps) => steps.some(({ name }) => progress.steps[name]?.state !== 'done'));
  if (!stage) return { progress: { ...progress, state: 'completed' }, asked: [] };
  return ask(progress, stage, { from: 'waiting', to: 'asked', phase: 'do' });
}

function backward(stages: SagaStages, progress: SagaProgress): SagaChange {
  const states = (steps: readonly StageStep[]) => steps.map(({ name }) => progress.steps[name]?.state);
  if (states(stages.flat()).includes('asked')) return { progress, asked: [] };
  const open = ({ name, compensated }: StageStep) => {
    const state = progress.steps[name]?.state;
    return compensated && (state === 'done' || state === 'undoing');
  };
  const stage = stages.findLast((steps) => steps.some(open));
  if (!stage) return { progress: { ...progress, state: 'compensated' }, asked: [] };
  return ask(progress, stage.filter(open), { from: 'done', to: 'undoing', phase: 'undo' });
}

function ask(
  progress: SagaProgress,
  stage: readonly StageStep[],
  { from, to, phase }: { from: StepState; to: StepState; phase: AskedStep['phase'] },
): SagaChange {
  const names = stage.map(({ name }) => name).filter((name) => progress.steps[name]?.state === from);
  const asked = Object.fromEntries(names.map((name) => [name, { ...progress.steps[name], state: to }]));
  return {
    progress: { ...progress, steps: { ...progress.steps, ...asked } },
    asked: names.map((step) => ({ step, phase })),
  };
}
