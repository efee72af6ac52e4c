import { Injectable } from '@nestjs/common';
import { Column, DataSource, Entity, JoinColumn, ManyToOne, OneToMany, PrimaryColumn } from 'typeorm';
import { EmbeddedBitsStrategy, ShardIdentifier, SlotStrategy } from '@app/routing';
import { InjectControl, Pins, ShardedEntity, ShardedId, ShardingModule, Shards } from '@app/sharding';
import { TestCluster, waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { controlDatabase } from '../../support/control-database.js';
import { bootApp } from '../../support/deployment.js';
import type { INestApplication, ModuleMetadata, NestApplicationOptions } from '@nestjs/common';
import type { Place, ShardingStrategy } from '@app/routing';
import type { ShardingOptions } from '@app/sharding';

/** Of tenants; its id names the tenant's slot. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('wallets')
export class Wallet {
  @ShardedId()
  id!: ShardedId<Wallet>;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  owner!: string;

  @Column({ type: 'int', default: 0 })
  amount!: number;

  @OneToMany(() => Receipt, (receipt) => receipt.wallet, { cascade: true })
  receipts?: Receipt[];
}

/** Of tenants; its id names the shard. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('receipts')
export class Receipt {
  @ShardedId({ kind: 'shard' })
  id!: ShardedId<Receipt>;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @ManyToOne(() => Wallet, (wallet) => wallet.receipts, { eager: true, nullable: true })
  @JoinColumn({ name: 'wallet_id' })
  wallet?: Wallet | null;
}

/** Where its id says. */
@ShardedEntity({ strategy: new EmbeddedBitsStrategy() })
@Entity('accounts')
export class Account {
  @ShardedId({ kind: 'shard' })
  id!: ShardedId<Account>;

  @Column({ type: 'text' })
  owner!: string;
}

/** In the slot of its owner. */
@ShardedEntity({ strategy: new SlotStrategy<Locker>({ key: 'owner' }) })
@Entity('lockers')
export class Locker {
  @ShardedId()
  id!: ShardedId<Locker>;

  @Column({ type: 'text' })
  owner!: string;
}

/** Counts what it is asked. */
export const asked: string[] = [];

/** By a column: Mexico in group 1. */
class CountryStrategy implements ShardingStrategy<Customer> {
  readonly routesById = false;

  ofEntity({ country }: Customer): Place | undefined {
    asked.push('entity');
    return country === undefined ? undefined : ShardIdentifier.of(country === 'MX' ? 1 : 0, 0);
  }

  ofId(): undefined {
    asked.push('id');
  }

  ofQuery(where: unknown): Place | undefined {
    asked.push('query');
    const { country } = where as { country?: unknown };
    return typeof country === 'string' ? this.ofEntity({ country } as Customer) : undefined;
  }
}

@ShardedEntity({ strategy: new CountryStrategy() })
@Entity('customers')
export class Customer {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  country!: string;

  @Column({ type: 'text', default: '' })
  name!: string;
}

/** By a window of time, which is in the id: years before 2020 on shard0. */
class YearStrategy implements ShardingStrategy<Reading, number> {
  readonly routesById = true;

  ofEntity({ id }: Reading): Place {
    return this.ofId(id);
  }

  ofId(id: number): Place {
    asked.push('id');
    return ShardIdentifier.of(0, Math.floor(id / 1000) < 2020 ? 0 : 1);
  }
}

@ShardedEntity({ strategy: new YearStrategy() })
@Entity('readings')
export class Reading {
  /** Year and number: 2021003. */
  @PrimaryColumn({ type: 'int' })
  id!: number;

  @Column({ type: 'int' })
  value!: number;
}

/** By a table of the control database. */
@Injectable()
export class DeviceStrategy implements ShardingStrategy<Device> {
  readonly routesById = true;

  constructor(@InjectControl() private readonly control: DataSource) {}

  ofEntity({ id }: Device): Promise<Place | undefined> {
    return this.ofId(id);
  }

  async ofId(id: string): Promise<Place | undefined> {
    asked.push('look-up');
    const sql = 'select shard_group, member from device_places where id = $1';
    const [row] = await this.control.query<{ shard_group: number; member: number }[]>(sql, [id]);
    return row && ShardIdentifier.of(row.shard_group, row.member);
  }
}

@ShardedEntity({ strategy: DeviceStrategy, reads: 'primary' })
@Entity('devices')
export class Device {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  model!: string;
}

export const TABLES = `
  create table wallets (id uuid primary key, tenant_id text not null, owner text not null, amount int not null default 0,
    unique (tenant_id, owner));
  create table receipts (id uuid primary key, tenant_id text not null, wallet_id uuid references wallets);
  create table accounts (id uuid primary key, owner text not null);
  create table lockers (id uuid primary key, owner text not null);
  create table customers (id text primary key, country text not null, name text not null default '');
  create table readings (id int primary key, value int not null);
  create table devices (id text primary key, model text not null)`;

export const ENTITIES = [Wallet, Receipt, Account, Locker, Customer, Reading, Device];

/** What `boot` takes besides the options. */
interface BankParts extends ModuleMetadata {
  /** In the place of the shards' own. */
  readonly urls?: readonly string[];
  /** Default: all entities. */
  readonly features?: readonly EntityClass[];
  readonly nest?: NestApplicationOptions;
}

type EntityClass = (typeof ENTITIES)[number];

/** shard0 is (0,0), shard1 (0,1), shard2 (1,0); pins are obeyed. Applications booted through it end with `stop`. */
export class Bank {
  readonly #apps: INestApplication[] = [];

  private constructor(
    readonly urls: readonly string[],
    readonly control: string,
  ) {}

  static async open(): Promise<Bank> {
    const cluster = TestCluster.attach();
    const template = await cluster.template('bank', (url) => runOnce(url, TABLES).then(() => undefined));
    const create = (label: string) => cluster.createDatabase({ template, label });
    const urls = [await create('shard0'), await create('shard1'), await create('shard2')];
    const control = await controlDatabase();
    await runOnce(
      control,
      'create table device_places (id text primary key, shard_group int not null, member int not null)',
    );
    return new Bank(urls, control);
  }

  async boot(
    { database, ...options }: Partial<ShardingOptions> = {},
    parts: BankParts = {},
  ): Promise<INestApplication> {
    const { urls = this.urls, features = ENTITIES, nest, ...rest } = parts;
    const groups = [0, 0, 1];
    const app = await bootApp(
      {
        database: {
          primaryUrl: this.control,
          poolSize: 4,
          directoryShardRouter: true,
          shards: urls.map((primaryUrl, at) => ({ name: `shard${at}`, primaryUrl, group: groups[at] ?? 0 })),
          ...database,
        },
        tenancy: { source: 'header' },
        entities: ENTITIES,
        ...options,
      },
      { ...rest, imports: [ShardingModule.forFeature(features), ...(rest.imports ?? [])] },
      nest,
    );
    this.#apps.push(app);
    return app;
  }

  query(shard: number, sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]> {
    return runOnce(this.urls[shard] ?? '', sql, params);
  }

  /** Which shards have rows of a table, each with the values of a column in order. */
  async where(table: string, column: string): Promise<Record<string, unknown[]>> {
    const found: Record<string, unknown[]> = {};
    for (const shard of this.urls.keys()) {
      const rows = await this.query(shard, `select ${column} as value from ${table} order by 1`);
      if (rows.length > 0) found[`shard${shard}`] = rows.map(({ value }) => value);
    }
    return found;
  }

  /** Pins a key; resolves when the application routes by it. */
  async pin(app: INestApplication, key: string, shard: string): Promise<void> {
    await app.get(Pins).pin(key, shard);
    await waitFor(async () => (await app.get(Shards).shardFor(key)).name === shard, { what: 'the pin' });
  }

  async unpin(app: INestApplication): Promise<void> {
    for (const { key } of await app.get(Pins).list()) await app.get(Pins).unpin(key);
    const shards = app.get(Shards);
    const owner = shards.topology.shardOf('acme').name;
    await waitFor(async () => (await shards.shardFor('acme')).name === owner, { what: 'the unpin' });
  }

  async clear(): Promise<void> {
    asked.length = 0;
    const tables = 'wallets, receipts, accounts, lockers, customers, readings, devices';
    for (const shard of this.urls.keys()) await this.query(shard, `truncate ${tables}`);
  }

  async stop(): Promise<void> {
    for (const app of this.#apps.splice(0)) await app.close();
  }
}

/** `code` of what a call throws; its answer where it does not. */
export async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: { code?: string }) => error.code ?? error);
}

/** A key of each shard of group 0: `acme` hashes to shard0, `globex` to shard1. */
export const TENANTS = ['acme', 'globex'] as const;

export function shardsOf(app: INestApplication): Shards {
  return app.get(Shards);
}
