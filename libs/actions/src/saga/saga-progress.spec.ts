import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { advanceSaga, beginSaga, isAtRest, resumeSaga } from './saga-progress.js';
import type { SagaChange, SagaProgress, SagaStages, StepNews } from './saga-progress.js';

const step = (name: string, compensated = true) => ({ name, compensated });
const TRANSFER: SagaStages = [[step('withdraw')], [step('deposit')]];

describe('the order of a saga', () => {
  it('asks for its stages one after the other and ends completed', () => {
    expect(story(TRANSFER, [done('withdraw'), done('deposit')])).toEqual([
      'running: do withdraw',
      'running: do deposit',
      'completed:',
    ]);
  });

  it('undoes what is done when a later step is refused', () => {
    expect(story(TRANSFER, [done('withdraw'), refused('deposit'), undone('withdraw')])).toEqual([
      'running: do withdraw',
      'running: do deposit',
      'compensating: undo withdraw',
      'compensated:',
    ]);
  });

  it('has nothing to undo when the first step is refused', () => {
    expect(story(TRANSFER, [refused('withdraw')])).toEqual(['running: do withdraw', 'compensated:']);
  });

  it('waits for parallel steps that are under way before it undoes', () => {
    const stages = [[step('book')], [step('pay'), step('post'), step('mail', false)]];
    expect(
      story(stages, [
        done('book'),
        refused('pay'),
        done('mail'),
        done('post'),
        undone('post'),
        undone('book'),
      ]),
    ).toEqual([
      'running: do book',
      'running: do pay, do post, do mail',
      'compensating:',
      'compensating:',
      'compensating: undo post',
      'compensating: undo book',
      'compensated:',
    ]);
  });

  it('is stuck when a compensation fails, and goes on when it is resumed', () => {
    const [, , third] = changes(TRANSFER, [done('withdraw'), refused('deposit')]);
    const stuck = advanceSaga(TRANSFER, third!.progress, { step: 'withdraw', outcome: 'undo_failed' });
    expect(stuck).toEqual({
      progress: {
        state: 'stuck',
        steps: { withdraw: { state: 'undoing' }, deposit: { state: 'refused' } },
      },
      asked: [],
    });
    expect(resumeSaga(stuck.progress).asked).toEqual([{ step: 'withdraw', phase: 'undo' }]);
  });

  it('keeps results, also while it undoes', () => {
    const [, withdrawn] = changes(TRANSFER, [done('withdraw', { left: 3 })]);
    const turned = advanceSaga(TRANSFER, withdrawn!.progress, refused('deposit'));
    expect(turned.progress.steps['withdraw']).toEqual({ state: 'undoing', result: { left: 3 } });
  });

  it('hears each piece of news once', () => {
    const [, withdrawn] = changes(TRANSFER, [done('withdraw')]);
    for (const news of [done('withdraw'), refused('withdraw'), undone('withdraw'), done('nothing')]) {
      expect(advanceSaga(TRANSFER, withdrawn!.progress, news)).toEqual({
        progress: withdrawn!.progress,
        asked: [],
      });
    }
  });

  it('always comes to rest, with every compensated step either kept or undone', () => {
    fc.assert(
      fc.property(anyStages, fc.infiniteStream(fc.nat(999)), (stages, chances) => {
        const end = play(stages, chances);
        const states = stages.flat().map(({ name, compensated }) => ({ compensated, ...end.steps[name]! }));
        if (end.state === 'completed') expect(states.every(({ state }) => state === 'done')).toBe(true);
        else {
          expect(end.state).toBe('compensated');
          expect(states.filter(({ compensated, state }) => compensated && state === 'done')).toEqual([]);
        }
      }),
    );
  });
});

/** Answers what is asked for, in any order, now and then twice, until nothing is. */
function play(stages: SagaStages, chances: Iterator<number>): SagaProgress {
  let { progress, asked } = beginSaga(stages);
  let open = [...asked];
  while (open.length > 0) {
    const chance = chances.next().value as number;
    const { step: name, phase } = open[chance % open.length]!;
    const outcome = phase === 'undo' ? 'undone' : chance % 5 === 0 ? 'refused' : 'done';
    ({ progress, asked } = advanceSaga(stages, progress, { step: name, outcome } as StepNews));
    if (chance % 3 > 0) open = open.filter((each) => each.step !== name || each.phase !== phase);
    open.push(...asked);
  }
  expect(isAtRest(progress)).toBe(true);
  return progress;
}

const anyStages = fc
  .array(fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
  .map((stages) =>
    stages.map((steps, stage) => steps.map((compensated, index) => step(`${stage}.${index}`, compensated))),
  );

function changes(stages: SagaStages, news: readonly StepNews[]): SagaChange[] {
  const all = [beginSaga(stages)];
  for (const each of news) all.push(advanceSaga(stages, all.at(-1)!.progress, each));
  return all;
}

function story(stages: SagaStages, news: readonly StepNews[]): string[] {
  return changes(stages, news).map(({ progress, asked }) =>
    `${progress.state}: ${asked.map(({ phase, step: name }) => `${phase} ${name}`).join(', ')}`.trim(),
  );
}

function done(name: string, result?: unknown): StepNews {
  return { step: name, outcome: 'done', ...(result !== undefined && { result }) };
}

function refused(name: string): StepNews {
  return { step: name, outcome: 'refused' };
}

function undone(name: string): StepNews {
  return { step: name, outcome: 'undone' };
}
