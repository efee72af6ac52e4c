import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { OutboxSignal, appendEvents } from '@app/actions';
import { Shards } from '@app/sharding';
import { bootApp, type Deployment } from '../support/deployment.js';
import { eventOf, eventShards, untilDelivered } from '../support/event-shards.js';
import type { INestApplication, Type } from '@nestjs/common';

/** The README's snippet about events, run as it is written. */
const FOLDER = resolve('test/.tmp/readme-events');
const NAME = 'greeting.module.ts';

let databases: Deployment;
let app: INestApplication | undefined;

beforeAll(async () => {
  const readme = readFileSync('README.md', 'utf8');
  const [, body = ''] = new RegExp(`^\`\`\`ts\\n// ${NAME}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(readme) ?? [];
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, NAME), body);
  databases = await eventShards(2);
  for (const shard of [0, 1])
    await databases.query(shard, 'create table greetings (tenant_id text, text text)');
});
afterEach(() => app?.close());
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

it('greets a member once on the shard of its tenant, however often the event comes', async () => {
  const { GreetingModule, MemberJoined } = (await import(join(FOLDER, NAME))) as {
    GreetingModule: Type;
    MemberJoined: new (name: string) => object;
  };
  app = await bootApp(databases.options(), { imports: [GreetingModule] });
  const event = eventOf('member-1', {
    type: 'member.joined',
    payload: new MemberJoined('ann'),
    routingKey: 'globex',
  });
  const db = await app.get(Shards).dbFor('globex');
  for (let time = 0; time < 3; time++) {
    await db.tx((tx) => appendEvents(tx, [event]));
    app.get(OutboxSignal).written('shard1');
    await untilDelivered(databases, 1);
  }
  expect(await databases.query(1, 'select * from greetings')).toEqual([
    { tenant_id: 'globex', text: 'hello ann' },
  ]);
});
