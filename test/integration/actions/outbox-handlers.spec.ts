import { Injectable, Scope } from '@nestjs/common';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ActionsModule, EventType, OnEvent } from '@app/actions';
import { bootEvents, eventShards } from '../../support/event-shards.js';
import type { INestApplication, Provider } from '@nestjs/common';
import type { OutboxOptions } from '@app/actions';
import type { Deployment } from '../../support/deployment.js';

@EventType('note.written')
class NoteWritten {}

@Injectable()
class Handlers {
  @OnEvent(NoteWritten, { name: 'one' })
  @OnEvent(NoteWritten, { name: 'two' })
  handle() {}
}

@Injectable()
class SameName {
  @OnEvent(NoteWritten, { name: 'one' })
  handle() {}
}

@Injectable({ scope: Scope.REQUEST })
class OfRequests {
  @OnEvent(NoteWritten, { name: 'three' })
  handle() {}
}

let databases: Deployment;
let app: INestApplication | undefined;
beforeEach(async () => {
  databases = await eventShards(1);
});
afterEach(async () => {
  await app?.close();
  app = undefined;
});

it.each<[string, Provider[], RegExp]>([
  ['two of one name', [Handlers, SameName], /two are named "one"/],
  ['one of a request-scoped provider', [OfRequests], /"three" is a method of a request-scoped provider/],
])('refuses to boot with handlers of which there are %s', async (_what, providers, message) => {
  const refusal = { code: 'invalid_options', message: expect.stringMatching(message) };
  await expect(bootEvents(databases.options(), providers)).rejects.toMatchObject(refusal);
});

it('takes a provider under two tokens for one', async () => {
  app = await bootEvents(databases.options(), [Handlers, { provide: 'alias', useExisting: Handlers }]);
});

it('refuses an event class without a type when the handler is declared', () => {
  class Nameless {}
  expect(() => OnEvent(Nameless, { name: 'x' })).toThrow(/Nameless has no event type/);
});

it.each<[object, RegExp]>([
  [{ leaseMs: 1 }, /outbox\.leaseMs: must be a whole number from 300/],
  [{ relay: 'maybe', maxAttempts: 0 }, /outbox\.relay.*; outbox\.maxAttempts/],
  [{ deadDays: 61 }, /outbox\.inboxDays: must not be less than outbox\.deadDays/],
  [{ leaseTime: 1 }, /outbox\.leaseTime: unknown key/],
])('refuses the options %j with every mistake', (outbox, message) => {
  expect(() => ActionsModule.forRoot({ outbox: outbox as OutboxOptions })).toThrow(message);
});
