import { expect, it } from '@jest/globals';
import { Lanes } from './lanes.js';
import type { WaitingEvent } from './waiting-event.js';

const events = (...of: string[]) =>
  of.map((aggregateId, index) => ({ aggregateId, position: String(index) }) as WaitingEvent);
const shown = (lanes: ReturnType<Lanes['open']>) =>
  lanes.map((lane) => [lane.aggregateId, lane.events.map(({ position }) => position).join(' ')]);

it('gives each aggregate one lane, in the order of its events', () => {
  const lanes = new Lanes({ events: 10, perLane: 5 });
  expect(shown(lanes.open(events('a', 'b', 'a', 'c', 'b')))).toEqual([
    ['a', '0 2'],
    ['b', '1 4'],
    ['c', '3'],
  ]);
  expect(lanes.room).toBe(5);
});

it('takes no events of an aggregate that has a lane, until that is closed', () => {
  const lanes = new Lanes({ events: 10, perLane: 5 });
  const [lane] = lanes.open(events('a'));
  expect(shown(lanes.open(events('a', 'b')))).toEqual([['b', '1']]);
  expect(lanes.aggregates()).toEqual(['a', 'b']);
  lanes.close(lane!);
  lanes.close(lane!);
  expect(lanes.room).toBe(9);
  expect(shown(lanes.open(events('a')))).toEqual([['a', '0']]);
});

it('leaves room for others beside a busy aggregate', () => {
  const lanes = new Lanes({ events: 10, perLane: 2 });
  expect(shown(lanes.open(events('a', 'a', 'a', 'a', 'b')))).toEqual([
    ['a', '0 1'],
    ['b', '4'],
  ]);
  expect(lanes.room).toBe(7);
});
