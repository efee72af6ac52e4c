import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryGeneratedColumn, VersionColumn } from 'typeorm';
import { Action, ActionExecutor, ActionsModule, type ActionContext } from '@app/actions';
import { migrate, resolveOptions, ShardedEntity, ShardingModule, Shards } from '@app/sharding';
import { bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';

/** A column of each kind that a driver writes in a way of its own. */
@ShardedEntity({ tenantColumn: 'tenant' })
@Entity('"odd" things')
class Thing {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column({ type: 'text' })
  tenant!: string;

  @Column({ name: 'a "b" c', type: 'numeric' })
  decimal!: string;

  @Column({ type: 'float8', array: true })
  floats!: number[];

  @Column({ type: 'bigint' })
  big!: string;

  @Column({ type: 'bytea' })
  bytes!: Buffer;

  @Column({ type: 'timestamptz', precision: 3 })
  at!: Date;

  @Column({ type: 'timestamp', precision: 3 })
  local!: Date;

  @Column({ type: 'date' })
  day!: string;

  @Column({ type: 'json', nullable: true })
  json!: unknown;

  @Column({ type: 'jsonb', nullable: true })
  jsonb!: unknown;

  @Column({ type: 'simple-array' })
  simple!: string[];

  @Column({ type: 'simple-json' })
  simpleJson!: unknown;

  @Column({ type: Boolean })
  flag!: boolean;

  @Column({ type: 'text', array: true, nullable: true })
  words!: string[] | null;

  @Column({ type: 'interval' })
  span!: string;

  @Column({ type: 'int', transformer: { to: (n: number) => n * 2, from: (n: number) => n / 2 } })
  doubled!: number;

  @Column({ type: 'text', default: 'by default' })
  text!: string;

  @VersionColumn()
  version!: number;
}

const VALUES: Partial<Thing>[] = [
  {
    decimal: '12345678901234567890.10',
    floats: [0.1, -0, Number.POSITIVE_INFINITY, 1e300],
    big: '9007199254740993',
    bytes: Buffer.from([0, 1, 255, 92]),
    at: new Date('2024-02-29T23:59:59.123Z'),
    local: new Date('2024-07-01T12:00:00.5Z'),
    day: '2024-02-29',
    json: { b: 1, a: [true, null, 'x"\\'] },
    jsonb: [1.5, 'ü', { deep: null }],
    simple: ['a', 'b'],
    simpleJson: { c: [1] },
    flag: true,
    words: ['a"b', 'c,d', '{}', 'null', ''],
    doubled: 21,
  },
  {
    decimal: '0',
    floats: [],
    big: '-9223372036854775808',
    bytes: Buffer.alloc(0),
    at: new Date('0099-01-01T00:00:00Z'),
    local: new Date('1970-01-01T00:00:00Z'),
    day: '0001-01-01',
    json: 'text',
    jsonb: null,
    simple: [],
    simpleJson: [],
    flag: false,
    words: null,
    doubled: 0,
    text: "it's \u2028 'quoted' \\ $1",
  },
];

const TABLE = `create table """odd"" things" (id uuid primary key default gen_random_uuid(), tenant text not null,
  "a ""b"" c" numeric not null, floats float8[] not null, big bigint not null, bytes bytea not null, at timestamptz(3) not null,
  local timestamp(3) not null, day date not null, json json, jsonb jsonb, simple text not null, "simpleJson" text not null,
  flag boolean not null, words text[], span interval not null, doubled int not null, text text not null default 'by default',
  version int not null)`;

@Action()
class Change {
  perform(work: (ctx: ActionContext) => unknown, ctx: ActionContext): void {
    work(ctx);
  }
}

let place: Deployment;
let app: INestApplication;

beforeAll(async () => {
  place = await deployment(1);
  const options = { ...place.options(), entities: [Thing] };
  await migrate(resolveOptions(options), () => undefined);
  await place.query(0, TABLE);
  const imports = [ActionsModule.forRoot({ outbox: { relay: 'off' } }), ShardingModule.forFeature([Thing])];
  app = await bootApp(options, { imports, providers: [Change] });
});
afterAll(() => app.close());

it.each([0, 1])('a plan stores values of every type as TypeORM does (%i)', async (at) => {
  const db = await app.get(Shards).dbFor('acme');
  const things = db.getRepository(Thing);
  const make = () => Object.assign(new Thing(), { tenant: 'acme', span: '1 day 02:00:00', ...VALUES[at] });
  const theirs = make();
  await things.insert(theirs as never);
  const change = (work: (ctx: ActionContext) => unknown) => app.get(ActionExecutor).execute(Change, work);
  const ours = make();
  await change(({ plan }) => plan.insert(ours));
  const rest = (rows: Record<string, unknown>[]) => rows.map(({ id: _id, version: _version, ...row }) => row);
  const raw = async (id: string) =>
    rest(await place.query(0, 'select * from """odd"" things" where id = $1', [id]));
  expect(await raw(ours.id)).toEqual(await raw(theirs.id));
  expect(ours.text).toBe(theirs.text ?? 'by default');
  const loaded = await things.findOneByOrFail({ id: ours.id });
  await change(({ plan }) => plan.update(loaded));
  expect(await raw(ours.id)).toEqual(await raw(theirs.id));
  expect(loaded.version).toBe(2);
});
