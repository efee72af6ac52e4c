import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Column, DataSource, Entity, VersionColumn } from 'typeorm';
import { Action, ActionExecutor, ActionsModule, EventType, type ActionContext } from '@app/actions';
import { SlotUuid } from '@app/routing';
import { migrate, resolveOptions, ShardedEntity, ShardedId, ShardingModule, Shards } from '@app/sharding';
import { compare, type SideResult } from '../support/bench.js';
import type { PostgresServer } from '../../support/postgres-server.js';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('purses')
class Purse {
  @ShardedId()
  id!: ShardedId<Purse>;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'int' })
  amount!: number;

  @Column({ type: 'text', nullable: true })
  note!: string | null;

  @VersionColumn()
  version!: number;
}

/** What hand-written code would map the outbox with. */
@Entity('_sharding_outbox')
class OutboxRow {
  @Column({ name: 'event_id', type: 'uuid', primary: true })
  eventId!: string;

  @Column({ name: 'action_id', type: 'uuid' })
  actionId!: string;

  @Column({ type: 'text' })
  type!: string;

  @Column({ type: 'jsonb' })
  payload!: object;

  @Column({ name: 'routing_key', type: 'text', nullable: true })
  routingKey!: string | null;

  @Column({ name: 'aggregate_id', type: 'text' })
  aggregateId!: string;

  @Column({ name: 'occurred_at', type: 'timestamptz' })
  occurredAt!: Date;
}

@EventType('purse.opened')
class PurseOpened {
  constructor(readonly purseId: string) {}
}

@Action()
class OpenPurse {
  perform(amount: number, { plan }: ActionContext): void {
    const purse = Object.assign(new Purse(), { amount, note: 'opened' });
    plan.insert(purse);
    plan.emit(new PurseOpened('of this action'));
  }
}

const ACTIONS = 300;
const WIDTH = 4;
const TENANT = 'acme';

/** Actions per second, several at a time as a service has them. */
async function rate(work: (index: number) => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const lane = async (first: number) => {
    for (let index = first; index < ACTIONS; index += WIDTH) await work(index);
  };
  await Promise.all(Array.from({ length: WIDTH }, (_none, first) => lane(first)));
  return (ACTIONS * 1000) / (performance.now() - began);
}

/** One row and one event in a transaction: by TypeORM, hand-written, and by an action. Both inside of a routing context. */
export async function compareActions(server: PostgresServer, rounds: number): Promise<SideResult[]> {
  const url = await server.createDatabase('actions');
  const database = { primaryUrl: url, poolSize: WIDTH };
  await migrate(resolveOptions({ database }), () => undefined);
  const entities = [Purse, OutboxRow];
  const plain = new DataSource({ type: 'postgres', url, entities, poolSize: WIDTH, logging: false });
  await plain.initialize();
  await plain.query(`create table purses (id uuid primary key, tenant_id text not null, amount int not null, note text,
    version int not null)`);
  @Module({
    imports: [
      ShardingModule.forRoot({ database, entities: [Purse], metrics: false, traces: 'off', health: false }),
      ActionsModule.forRoot({ outbox: { relay: 'off' } }),
    ],
    providers: [OpenPurse],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'], abortOnError: false });
  const executor = app.get(ActionExecutor);
  const shards = app.get(Shards);
  const slot = { group: 0, slot: shards.slotOf(TENANT) };
  const byHand = (amount: number) =>
    plain.transaction(async (manager) => {
      const id = SlotUuid.generate(slot);
      await manager.insert(Purse, { id: id as never, tenantId: TENANT, amount, note: 'opened' });
      await manager.insert(OutboxRow, {
        eventId: randomUUID(),
        actionId: randomUUID(),
        type: 'purse.opened',
        payload: new PurseOpened(id),
        routingKey: TENANT,
        aggregateId: id,
        occurredAt: new Date(),
      });
    });
  const side = (work: (index: number) => Promise<unknown>) => async () => {
    await plain.query('truncate purses, _sharding_outbox');
    return shards.runFor(TENANT, () => rate(work));
  };
  try {
    return await compare(
      [
        { name: 'TypeORM by hand', run: side(byHand) },
        { name: 'action', run: side((amount) => executor.execute(OpenPurse, amount)) },
      ],
      { rounds, warmup: 2 },
    );
  } finally {
    await app.close();
    await plain.destroy();
  }
}
