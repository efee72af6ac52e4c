import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { migrate, resolveOptions } from '@app/sharding';
import { SlotUuid } from '@app/routing';
import { bootApp, deployment, type Deployment } from '../support/deployment.js';
import type { INestApplication, Type } from '@nestjs/common';

/** The README's snippets about actions, run as they are written. */
const FOLDER = resolve('test/.tmp/readme-actions');
const NAMES = ['purse.entity.ts', 'pay.action.ts', 'gift.saga.ts'];

interface Payments {
  pay(tenant: string, id: string, payment: { id: string; amount: number }): Promise<number>;
}

let place: Deployment;
let app: INestApplication;
let payments: Payments;
let gifts: { give(gift: object, sagaId: string): Promise<string> };

const load = async <T>(name: string): Promise<T> => (await import(join(FOLDER, name))) as T;

beforeAll(async () => {
  const readme = readFileSync('README.md', 'utf8');
  mkdirSync(FOLDER, { recursive: true });
  for (const name of NAMES) {
    const [, body = ''] = new RegExp(`^\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(readme) ?? [];
    writeFileSync(join(FOLDER, name), body.replaceAll(/(entity|action)\.js'/g, "$1.ts'"));
  }
  place = await deployment(2);
  const { Purse } = await load<{ Purse: Type }>('purse.entity.ts');
  const options = { ...place.options(), entities: [Purse] };
  await migrate(resolveOptions(options), () => undefined);
  const table = `create table purses (id uuid primary key, tenant_id text not null, amount int not null, version int not null)`;
  for (const shard of [0, 1]) await place.query(shard, table);
  const { PaymentsModule, PaymentsService } = await load<Record<string, Type>>('pay.action.ts');
  const { GiftsModule, GiftsService } = await load<Record<string, Type>>('gift.saga.ts');
  app = await bootApp(options, { imports: [PaymentsModule as Type, GiftsModule as Type] });
  payments = app.get<Payments>(PaymentsService as Type);
  gifts = app.get(GiftsService as Type);
}, 60_000);
afterAll(async () => {
  await app.close();
  rmSync(FOLDER, { recursive: true, force: true });
});

it('a payment that is sent twice is paid once', async () => {
  const id = SlotUuid.generate('globex');
  await place.query(1, `insert into purses values ($1, 'globex', 100, 1)`, [id]);
  const pay = () => payments.pay('globex', id, { id: 'payment-1', amount: 30 });
  expect([await pay(), await pay()]).toEqual([70, 70]);
  expect(await place.query(1, 'select amount, version from purses')).toEqual([{ amount: 70, version: 2 }]);
});

it('a gift between tenants of two shards is given once, or comes back', async () => {
  const [from, to, nobody] = [
    SlotUuid.generate('acme'),
    SlotUuid.generate('globex'),
    SlotUuid.generate('globex'),
  ];
  await place.query(0, `insert into purses values ($1, 'acme', 100, 1)`, [from]);
  await place.query(1, `insert into purses values ($1, 'globex', 0, 1)`, [to]);
  const give = (purse: string, sagaId: string) =>
    gifts.give(
      { from: { tenant: 'acme', purse: from }, to: { tenant: 'globex', purse }, amount: 40 },
      sagaId,
    );
  const sagaId = randomUUID();
  expect(await Promise.all([give(to, sagaId), give(to, sagaId)])).toEqual(['completed', 'completed']);
  expect(await give(nobody, randomUUID())).toBe('compensated');
  const amountOf = (shard: number, id: string) =>
    place.query(shard, 'select amount from purses where id = $1', [id]);
  expect([await amountOf(0, from), await amountOf(1, to)]).toEqual([[{ amount: 60 }], [{ amount: 40 }]]);
});
