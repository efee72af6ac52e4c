import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { Injectable } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { OnEvent, EventType, WebhookPublisher } from '@app/actions';
import { waitFor } from '@test/support';
import {
  bootEvents,
  emit,
  eventOf,
  eventShards,
  eventsLeft,
  untilDelivered,
} from '../../support/event-shards.js';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import type { EventEnvelope, EventPublisher, WebhookOptions } from '@app/actions';
import type { Deployment } from '../../support/deployment.js';

@EventType('note.written')
class NoteWritten {}

const SECRET = 'a secret of more than 24 bytes';

let databases: Deployment;
let app: INestApplication | undefined;
beforeEach(async () => {
  databases = await eventShards(1);
});
afterEach(async () => {
  await app?.close();
  app = undefined;
});

it('hands events to every publisher, with those handlers and publishers that have not taken them', async () => {
  const taken: string[] = [];
  @Injectable()
  class Broker implements EventPublisher {
    readonly name = 'broker';
    async publish({ aggregateId, attempt, shard }: EventEnvelope) {
      taken.push(`broker ${aggregateId} ${attempt} ${shard}`);
      if (attempt === 1) throw new Error('busy');
    }
  }
  const some: EventPublisher = {
    name: 'some',
    types: ['note.deleted'],
    publish: async ({ type }) => void taken.push(`some ${type}`),
  };
  @Injectable()
  class Handlers {
    @OnEvent(NoteWritten, { name: 'handler' })
    handle() {
      taken.push('handler');
    }
  }
  app = await bootEvents(databases.options(), [Broker, Handlers], { publishers: [Broker, some] });
  await emit(app, 'shard0', [eventOf('a')]);
  await untilDelivered(databases);
  await emit(app, 'shard0', [eventOf('b', { type: 'note.deleted' })]);
  await untilDelivered(databases);
  expect(taken.slice(0, 3).toSorted()).toEqual(['broker a 1 shard0', 'broker a 2 shard0', 'handler']);
  expect(taken.slice(3).toSorted()).toEqual(['broker b 1 shard0', 'broker b 2 shard0', 'some note.deleted']);
});

it.each([
  ['two of one name', [publisher('x'), publisher('x')], /two are named "x"/],
  ['one without a name', [publisher('')], /needs a name/],
  ['one that takes no event at a time', [{ ...publisher('x'), concurrency: 0 }], /concurrency of "x"/],
])('refuses to boot with publishers of which there are %s', async (_what, publishers, message) => {
  const boot = bootEvents(databases.options(), [], { publishers });
  await expect(boot).rejects.toMatchObject({
    code: 'invalid_options',
    message: expect.stringMatching(message),
  });
});

describe('a webhook', () => {
  interface Post {
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }
  let server: Server;
  let posts: Post[];
  let status: number;
  beforeEach(async () => {
    posts = [];
    status = 204;
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        posts.push({ headers: request.headers, body });
        response.writeHead(status, { location: '/elsewhere' }).end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const webhook = (more: Partial<WebhookOptions> = {}) =>
    new WebhookPublisher({
      name: 'crm',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=k`,
      secret: SECRET,
      ...more,
    });

  it('gets what has happened, signed over id, time and body', async () => {
    app = await bootEvents(databases.options(), [], { publishers: [webhook()] });
    const event = eventOf('a', { payload: { text: 'grüße' }, routingKey: 'acme', headers: { trace: 't' } });
    await emit(app, 'shard0', [event]);
    await untilDelivered(databases);
    const [{ headers, body }] = posts as [Post];
    expect(JSON.parse(body)).toEqual({
      type: 'note.written',
      timestamp: event.occurredAt.toISOString(),
      data: { text: 'grüße' },
      event_id: event.eventId,
      action_id: event.actionId,
      routing_key: 'acme',
      aggregate_id: 'a',
      headers: { trace: 't' },
    });
    const signed = `${event.eventId}.${String(headers['webhook-timestamp'])}.${body}`;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': event.eventId,
      'webhook-signature': `v1,${createHmac('sha256', SECRET).update(signed).digest('base64')}`,
    });
  });

  it.each([500, 302, 404])('that answers %i gets the event again, with the same id', async (answer) => {
    status = answer;
    app = await bootEvents(databases.options(), [], { publishers: [webhook()], firstRetryMs: 100 });
    await emit(app, 'shard0', [eventOf('a')]);
    await waitFor(
      async () => (await eventsLeft(databases))[0]?.['failure'] === `crm: Webhook status_${answer}`,
      {
        what: 'the failure to be written',
      },
    );
    status = 200;
    await untilDelivered(databases);
    expect(new Set(posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(posts.length).toBeGreaterThan(1);
  });

  it('that does not answer has failed when its time is up', async () => {
    server.removeAllListeners('request');
    app = await bootEvents(databases.options(), [], { publishers: [webhook({ timeoutMs: 50 })] });
    await emit(app, 'shard0', [eventOf('a')]);
    await waitFor(async () => (await eventsLeft(databases))[0]?.['failure'] === 'crm: Webhook timeout', {
      what: 'the failure to be written',
    });
  });

  it.each([
    [{ url: 'http://example.com/hook' }, /begin with https/],
    [{ url: 'ftp://127.0.0.1/' }, /begin with https/],
    [{ url: 'nothing' }, /begin with https/],
    [{ secret: 'short' }, /at least 24 bytes/],
    [{ secret: `whsec_${Buffer.from('short').toString('base64')}` }, /at least 24 bytes/],
  ])('is refused with %j, and neither URL nor secret is told', (more, message) => {
    expect(() => webhook(more)).toThrow(message);
    expect(() => webhook(more)).not.toThrow(/example|short/);
  });
});

function publisher(name: string): EventPublisher {
  return { name, publish: async () => undefined };
}
