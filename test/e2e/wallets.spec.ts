import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ShardedUuid } from '@app/routing';
import { waitFor } from '@test/support';
import { createApp } from '../../apps/wallets/src/create-app.js';
import { call } from '../support/bookmarks.js';
import { listen } from '../support/deployment.js';
import { WalletsFleet } from '../support/wallets-fleet.js';
import type { INestApplication } from '@nestjs/common';

/** The wallets service over HTTP. */
let fleet: WalletsFleet;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  fleet = await WalletsFleet.create(0);
  app = await createApp({
    sharding: fleet.options(),
    actions: { outbox: { idleMs: 50, firstRetryMs: 20 } },
    logger: false,
  });
  url = `${await listen(app)}/api`;
});
afterAll(() => app.close());

const post = (path: string, body: object) => call(`${url}${path}`, { json: body });
const get = (path: string) => call(`${url}${path}`);

async function opened(country: string, owner: string, amount: number): Promise<string> {
  const { status, body } = await post('/wallets', { country, owner });
  expect({ status, body }).toMatchObject({ status: 201, body: { country, owner, balance: 0 } });
  const { id } = body as { id: string };
  expect(await post(`/wallets/${id}/deposits`, { amount })).toMatchObject({
    status: 201,
    body: { balance: amount },
  });
  return id;
}

const balance = async (id: string) => ((await get(`/wallets/${id}`)).body as { balance: number }).balance;
const placeOf = (id: string) => ShardedUuid.identifier(id).toString();

async function ended(from: string, transferId: string): Promise<unknown> {
  return waitFor(
    async () => {
      const { body } = await get(`/wallets/${from}/transfers/${transferId}`);
      const { state } = body as { state: string };
      return state === 'completed' || state === 'compensated' ? body : undefined;
    },
    { what: 'the transfer to end' },
  );
}

describe('wallets', () => {
  it('live where their country says, each owner of a group on a member of it', async () => {
    const places = [];
    for (const [country, owner] of [
      ['MX', 'ana'],
      ['DE', 'ben'],
      ['FR', 'cleo'],
    ] as const)
      places.push(placeOf(await opened(country, owner, 1)));
    expect(places).toEqual([
      '(1,0)',
      expect.stringMatching(/^\(0,[01]\)$/),
      expect.stringMatching(/^\(0,[01]\)$/),
    ]);
    expect(await post('/wallets', { country: 'ZZ', owner: 'x' })).toMatchObject({ status: 400 });
  });

  it('of one shard exchange money in one transaction, and keep their history', async () => {
    const [from, to] = [await opened('MX', 'dora', 500), await opened('MX', 'emil', 1)];
    const { status, body } = await post(`/wallets/${from}/transfers`, { to, amount: 200 });
    expect({ status, body }).toMatchObject({ status: 201, body: { state: 'completed' } });
    expect([await balance(from), await balance(to)]).toEqual([300, 201]);
    const { transferId } = body as { transferId: string };
    expect((await get(`/wallets/${from}/history`)).body).toMatchObject([
      { kind: 'withdrawal', amount: -200, transferId },
      { kind: 'deposit', amount: 500, transferId: null },
    ]);
    expect(await post(`/wallets/${from}/transfers`, { to, amount: 301 })).toMatchObject({
      status: 409,
      body: { message: 'the balance is too low' },
    });
    expect(await post(`/wallets/${from}/transfers`, { to: from, amount: 1 })).toMatchObject({ status: 400 });
  });

  it('of two groups exchange money by a saga, which gives it back where the other wallet is not there', async () => {
    const [from, to] = [await opened('MX', 'fay', 500), await opened('DE', 'gus', 1)];
    const sent = await post(`/wallets/${from}/transfers`, { to, amount: 200 });
    expect(sent).toMatchObject({ status: 201, body: { state: 'running' } });
    const { transferId } = sent.body as { transferId: string };
    expect(await ended(from, transferId)).toEqual({ transferId, state: 'completed' });
    expect([await balance(from), await balance(to)]).toEqual([300, 201]);

    const nobody = ShardedUuid.generate(ShardedUuid.identifier(to));
    const back = await post(`/wallets/${from}/transfers`, { to: nobody, amount: 100 });
    const { transferId: id } = back.body as { transferId: string };
    expect(await ended(from, id)).toEqual({
      transferId: id,
      state: 'compensated',
      failure: 'deposit: EntityNotFoundError',
    });
    expect(await balance(from)).toBe(300);
    expect((await get(`/wallets/${from}/history`)).body).toMatchObject([
      { kind: 'refund', amount: 100, transferId: id },
      { kind: 'withdrawal', amount: -100, transferId: id },
      {},
      {},
    ]);
    expect(await get(`/wallets/${from}/transfers/${nobody}`)).toMatchObject({ status: 404 });
  });

  it('add up to a total over all shards', async () => {
    const { status, body } = await get('/total');
    const rows = await fleet.everywhere('select balance::float8 as balance from wallets');
    const sum = rows.reduce((all, row) => all + Number(row['balance']), 0);
    expect({ status, body }).toEqual({
      status: 200,
      body: { wallets: rows.length, balance: sum, underway: 0, stuck: 0 },
    });
  });
});
