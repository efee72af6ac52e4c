import { Option } from 'commander';
import { seconds, wholeNumber } from '../arguments.js';
import { canConfirm, confirm } from '../confirm.js';
import { actionJson, actionText, stuckText } from '../output/action-text.js';
import { UsageError, type Report, type Session, type Verb } from '../verb.js';
import type { ActionRecord, Actions } from '@app/actions';

interface ActionsOptions {
  readonly quiet: number;
  readonly limit: number;
  readonly yes?: true;
}

const WITH_ID = ['show', 'retry', 'compensate'] as const;

export const actions: Verb<ActionsOptions> = {
  name: 'actions',
  group: 'actions',
  usage: '<what> [id]',
  summary: 'stuck, show, retry, compensate: actions over several shards',
  description:
    'stuck lists those that have not ended. show asks their shards how far they came. retry completes an action whose first part is ' +
    'committed, from what is stored on the shards, and cancels one of which nothing is. compensate undoes what is committed where ' +
    'the rows are as the action left them, and cancels the rest; it asks.',
  options: () => [
    new Option('--quiet <seconds>', 'stuck: not changed for so long')
      .default(60)
      .argParser(seconds(31_536_000)),
    new Option('--limit <actions>', 'stuck: the oldest ones').default(100).argParser(wholeNumber(1, 10_000)),
    new Option('--yes', 'compensate: without asking'),
  ],
  examples: [
    ['actions stuck', 'nothing is listed: all is well'],
    ['actions show 0b8f8f0e-7a53-4c4e-9a55-4b7f0d1b6a11', 'its shards, each with the state of its part'],
    ['actions retry 0b8f8f0e-7a53-4c4e-9a55-4b7f0d1b6a11', 'once the shard that failed is well again'],
  ],
  async run({ args: [what = '', id], options }, session) {
    if (what === 'stuck') {
      if (id !== undefined) throw new UsageError('actions stuck takes no id');
      return stuck(options, session);
    }
    const verb = WITH_ID.find((one) => one === what);
    if (!verb || id === undefined) {
      throw new UsageError('behind actions stands stuck, or show, retry or compensate and an id');
    }
    return verb === 'compensate' ? compensate(id, options, session) : one(session, (all) => all[verb](id));
  },
};

async function stuck({ quiet, limit }: ActionsOptions, session: Session): Promise<Report> {
  const found = await withActions(session, (all) => all.stuck({ quietMs: quiet * 1000, limit }));
  return {
    json: { actions: found.map(actionJson) },
    text: (style) => stuckText(found, style),
    outcome: found.length > 0 ? 'failed' : 'ok',
  };
}

async function compensate(id: string, { yes }: ActionsOptions, session: Session): Promise<Report> {
  if (!yes) {
    if (!canConfirm()) {
      throw new UsageError(
        'actions compensate asks before it undoes anything, and nobody can answer here: say --yes',
      );
    }
    const { action, state } = await withActions(session, (all) => all.show(id));
    const question = `action ${action} ${id} is ${state}; undo what it has committed?`;
    if (!(await confirm(question, session.signal))) {
      const notes = ['nothing was changed; to undo it say --yes'];
      return { json: { id, state }, text: () => '', outcome: 'failed', notes };
    }
  }
  return one(session, (all) => all.compensate(id));
}

async function one(session: Session, work: (all: Actions) => Promise<ActionRecord>): Promise<Report> {
  const action = await withActions(session, work);
  return { json: actionJson(action), text: (style) => actionText(action, style) };
}

async function withActions<T>(session: Session, work: (all: Actions) => Promise<T>): Promise<T> {
  const settings = await session.settings();
  const { controlPlace, withShards } = await import('@app/sharding/operator');
  controlPlace(settings);
  const { actionsOf } = await import('@app/actions');
  return withShards(settings, (shards) => work(actionsOf(shards)));
}
