import { Injectable } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EventType, OnEvent } from '@app/actions';
import { tenantOf } from '@app/sharding';
import { waitFor } from '@test/support';
import { Note, type Deployment } from '../../support/deployment.js';
import {
  bootEvents,
  emit,
  eventOf,
  eventShards,
  eventsLeft,
  untilDelivered,
} from '../../support/event-shards.js';
import type { INestApplication, Type } from '@nestjs/common';
import type { HandledEvent, OutboxOptions } from '@app/actions';

@EventType('note.written')
class NoteWritten {
  constructor(readonly text: string) {}
  shout(): string {
    return this.text.toUpperCase();
  }
}

let databases: Deployment;
let app: INestApplication | undefined;

beforeEach(async () => {
  databases = await eventShards();
});
afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function boot(handlers: Type[], outbox: OutboxOptions = {}): Promise<void> {
  app = await bootEvents(databases.options(), handlers, outbox);
}

const left = () => eventsLeft(databases);

describe('a handler', () => {
  it('gets an object of the event class, in the routing context of its key, and the event is gone then', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class Handlers {
      @OnEvent(NoteWritten, { name: 'shout' })
      async handle(event: NoteWritten, { once: _once, signal: _signal, ...envelope }: HandledEvent) {
        seen.push([event.shout(), event instanceof NoteWritten, await tenantOf(), envelope]);
      }
    }
    await boot([Handlers]);
    const event = eventOf('note-1', {
      payload: new NoteWritten('hello'),
      routingKey: 'globex',
      headers: { trace: 'abc' },
    });
    await emit(app!, 'shard1', [event]);
    await untilDelivered(databases, 1);
    const { payload, ...rest } = event;
    const envelope = { ...rest, payload: { ...payload }, shard: 'shard1', attempt: 1 };
    expect(seen).toEqual([['HELLO', true, 'globex', envelope]]);
  });

  it('that fails gets the event again, after the others that wait, and holds later ones of its aggregate only', async () => {
    const seen: string[] = [];
    @Injectable()
    class Handlers {
      #failures = 2;
      @OnEvent(NoteWritten, { name: 'fails-twice' })
      handle({ text }: NoteWritten, { attempt }: HandledEvent) {
        seen.push(`${text} ${attempt}`);
        if (text === 'a1' && this.#failures-- > 0) throw new TypeError('a1 owes 5');
      }
    }
    await boot([Handlers], { firstRetryMs: 100 });
    await emit(
      app!,
      'shard0',
      ['a1', 'a2', 'b1', 'b2'].map((text) => eventOf(text.charAt(0), { payload: { text } })),
    );
    await waitFor(async () => seen.includes('b2 1'), { what: 'the other aggregate' });
    const held = await left();
    expect(held).toContainEqual({
      aggregate_id: 'a',
      attempts: expect.any(Number),
      failure: 'fails-twice: TypeError',
      dead_at: null,
    });
    await untilDelivered(databases);
    expect(seen).toEqual(['a1 1', 'b1 1', 'b2 1', 'a1 2', 'a1 3', 'a2 1']);
  });

  it('that has taken an event does not get it again because another one has not', async () => {
    const seen: string[] = [];
    @Injectable()
    class Handlers {
      @OnEvent(NoteWritten, { name: 'well' })
      well() {
        seen.push('well');
      }
      @OnEvent(NoteWritten, { name: 'ill' })
      ill(_event: NoteWritten, { attempt }: HandledEvent) {
        seen.push(`ill ${attempt}`);
        if (attempt < 3) throw new Error('ill');
      }
    }
    await boot([Handlers]);
    await emit(app!, 'shard0', [eventOf('a')]);
    await untilDelivered(databases);
    expect(seen.toSorted()).toEqual(['ill 1', 'ill 2', 'ill 3', 'well']);
  });

  it('that always fails leaves a dead letter with its reason, and the aggregate goes on', async () => {
    const seen: string[] = [];
    @Injectable()
    class Handlers {
      @OnEvent(NoteWritten, { name: 'poisoned' })
      handle({ text }: NoteWritten) {
        seen.push(text);
        if (text === 'poison') throw Object.assign(new Error('of acme'), { code: 'ECONNREFUSED' });
      }
    }
    await boot([Handlers], { maxAttempts: 3, firstRetryMs: 5 });
    await emit(
      app!,
      'shard0',
      ['poison', 'next'].map((text) => eventOf('a', { payload: { text } })),
    );
    await waitFor(async () => seen.includes('next'), { what: 'the next event' });
    await waitFor(async () => (await left()).length === 1, { what: 'the dead letter alone' });
    expect(seen).toEqual(['poison', 'poison', 'poison', 'next']);
    expect(await left()).toEqual([
      { aggregate_id: 'a', attempts: 3, failure: 'poisoned: Error ECONNREFUSED', dead_at: expect.any(Date) },
    ]);
  });

  it('that never returns has failed when its time is up, and can send no statement then', async () => {
    const seen: string[] = [];
    const late: unknown[] = [];
    @Injectable()
    class Handlers {
      @OnEvent(NoteWritten, { name: 'stuck' })
      async handle(_event: NoteWritten, { attempt, signal, once }: HandledEvent) {
        seen.push(`attempt ${attempt}`);
        if (attempt > 1) return;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await once((tx) => tx.query('select 1')).catch((error: unknown) => late.push(error));
      }
    }
    await boot([Handlers], { handlerTimeoutMs: 50 });
    await emit(app!, 'shard0', [eventOf('a')]);
    await untilDelivered(databases);
    expect(seen).toEqual(['attempt 1', 'attempt 2']);
    await waitFor(async () => late.length === 1, { what: 'the late statement' });
    expect(late).toEqual([expect.objectContaining({ code: 'deadline_exceeded' })]);
  });
});

it('delivers events that nobody handles to nobody', async () => {
  await boot([]);
  await emit(app!, 'shard0', [eventOf('a'), eventOf('b', { type: 'unknown' })]);
  await untilDelivered(databases);
});

it('commits the effect of an event that comes five times once, with the inbox', async () => {
  @Injectable()
  class Handlers {
    readonly answers: boolean[] = [];
    @OnEvent(NoteWritten, { name: 'note-it' })
    async handle({ text }: NoteWritten, { once, routingKey }: HandledEvent) {
      const write = { tenantId: String(routingKey), body: text };
      this.answers.push(await once((tx) => tx.getRepository(Note).insert(write)));
      if (this.answers.length < 5) throw new Error('after the effect, before the end');
    }
  }
  await boot([Handlers], { firstRetryMs: 2 });
  await emit(app!, 'shard0', [eventOf('a', { payload: { text: 'once' }, routingKey: 'globex' })]);
  await untilDelivered(databases);
  expect(app!.get(Handlers).answers).toEqual([true, false, false, false, false]);
  expect(await databases.query(1, 'select tenant_id, body from notes')).toEqual([
    { tenant_id: 'globex', body: 'once' },
  ]);
  expect(await databases.query(1, 'select handler, routing_key from _sharding_inbox')).toEqual([
    { handler: 'note-it', routing_key: 'globex' },
  ]);
});
