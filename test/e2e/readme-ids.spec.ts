import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Module } from '@nestjs/common';
import { ShardingModule } from '@app/sharding';
import { ShardIdentifier, SlotUuid, type ShardingStrategy } from '@app/routing';
import { call } from '../support/bookmarks.js';
import { bootApp, deployment, listen, type Deployment } from '../support/deployment.js';
import type { INestApplication, Type } from '@nestjs/common';

/** The README's snippets about ids and strategies, run as they are written. */
const FOLDER = resolve('test/.tmp/readme-ids');
const NAMES = [
  'wallet.entity.ts',
  'wallets.controller.ts',
  'country.strategy.ts',
  'account.entity.ts',
  'accounts.service.ts',
];

let place: Deployment;
let app: INestApplication | undefined;

beforeAll(async () => {
  const readme = readFileSync('README.md', 'utf8');
  mkdirSync(FOLDER, { recursive: true });
  for (const name of NAMES) {
    const [, body = ''] = new RegExp(`^\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(readme) ?? [];
    writeFileSync(join(FOLDER, name), body.replaceAll("entity.js'", "entity.ts'"));
  }
  place = await deployment(2);
  for (const shard of [0, 1]) {
    await place.query(
      shard,
      'create table wallets (id uuid primary key, tenant_id text not null, owner text not null)',
    );
    await place.query(shard, 'create table accounts (id uuid primary key, owner text not null)');
  }
});
afterEach(() => app?.close());
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const load = async <T>(name: string): Promise<T> => (await import(join(FOLDER, name))) as T;

it('an id leads to its wallet, and shows it to nobody else', async () => {
  const { Wallet } = await load<{ Wallet: Type }>('wallet.entity.ts');
  const { WalletsController } = await load<{ WalletsController: Type }>('wallets.controller.ts');
  @Module({ imports: [ShardingModule.forFeature([Wallet])], controllers: [WalletsController] })
  class Wallets {}
  app = await bootApp({ ...place.options(), entities: [Wallet] }, { imports: [Wallets] });
  const url = await listen(app);
  const id = SlotUuid.generate('globex');
  await place.query(1, `insert into wallets values ($1, 'globex', 'ann')`, [id]);
  const row = { id, tenantId: 'globex', owner: 'ann' };
  expect(await call(`${url}/wallets/${id}`, { tenant: 'globex' })).toMatchObject({
    status: 200,
    body: { found: row },
  });
  expect(await call(`${url}/wallets/${id}`, { tenant: 'acme' })).toMatchObject({
    status: 200,
    body: { found: null },
  });
  expect(await call(`${url}/wallets/1`, { tenant: 'globex' })).toMatchObject({
    status: 400,
    body: { code: 'invalid_id' },
  });
});

it('an account is opened in the group of its owner, and found by its id', async () => {
  const { Account } = await load<{ Account: Type }>('account.entity.ts');
  const { AccountsService } = await load<{ AccountsService: Type }>('accounts.service.ts');
  const shards = place.shards.map((primaryUrl, group) => ({ name: `shard${group}`, primaryUrl, group }));
  @Module({ imports: [ShardingModule.forFeature([Account])], providers: [AccountsService] })
  class Accounts {}
  const control = (await deployment(1)).control;
  app = await bootApp(
    { database: { primaryUrl: control, shards }, entities: [Account] },
    { imports: [Accounts] },
  );
  const accounts = app.get(AccountsService) as {
    open(group: number, owner: string): Promise<object>;
    ownedBy(owner: string): Promise<object[]>;
  };
  const opened = [await accounts.open(0, 'ann'), await accounts.open(1, 'ann')];
  expect(opened).toMatchObject([{ owner: 'ann' }, { owner: 'ann' }]);
  expect(await place.query(1, 'select id, owner from accounts')).toEqual([{ ...opened[1] }]);
  const found = await accounts.ownedBy('ann');
  expect(found).toHaveLength(2);
  expect(found).toEqual(expect.arrayContaining(opened));
});

it('a strategy of the application goes by a column', async () => {
  const { CountryStrategy } = await load<{
    CountryStrategy: new () => Required<ShardingStrategy<{ country: string }>>;
  }>('country.strategy.ts');
  const strategy = new CountryStrategy();
  expect([
    strategy.ofEntity({ country: 'MX' }),
    strategy.ofEntity({ country: 'CH' }),
    strategy.ofId('1'),
    strategy.ofQuery({ country: 'MX' }),
    strategy.ofQuery({}),
  ]).toEqual([
    ShardIdentifier.of(1, 0),
    ShardIdentifier.DEFAULT,
    undefined,
    ShardIdentifier.of(1, 0),
    undefined,
  ]);
});
