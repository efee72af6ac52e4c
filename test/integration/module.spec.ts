import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { ContextIdFactory, ModuleRef, NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import * as sharding from '@app/sharding';
import { InjectControl, ShardedDb, ShardingModule, Shards } from '@app/sharding';
import { freePort, waitFor } from '@test/support';
import { call } from '../support/bookmarks.js';
import { Note, bootApp, deployment, listen, type Deployment } from '../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions, ShardingOptionsFactory } from '@app/sharding';

@Injectable()
class ControlUser {
  constructor(@InjectControl() readonly control: DataSource) {}
}

let databases: Deployment;
let app: INestApplication | undefined;

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function boot(...parts: Parameters<typeof bootApp>): Promise<INestApplication> {
  return (app = await bootApp(...parts));
}

describe('the control database', () => {
  it('is injected as a DataSource that opens at its first statement', async () => {
    await boot(databases.options(), { providers: [ControlUser] });
    const { control } = app!.get(ControlUser);
    expect(control.isInitialized).toBe(false);
    await expect(control.manager.query('select 1 as one')).resolves.toEqual([{ one: 1 }]);
    expect(control.isInitialized).toBe(true);
  });

  it('that is down stops neither the boot nor a shard, where slots are declared', async () => {
    const primaryUrl = `postgres://a:b@127.0.0.1:${await freePort()}/control`;
    const shards = databases.shards.map((url, index) => ({
      name: `shard${index}`,
      primaryUrl: url,
      slots: [index === 0 ? '0-8191' : '8192-16383'],
    }));
    await boot(databases.options({ primaryUrl, shards }), { providers: [ControlUser] });
    await expect(app!.get(ControlUser).control.query('select 1')).rejects.toMatchObject({
      code: 'shard_unavailable',
      message: 'the control database cannot be reached (ECONNREFUSED)',
    });
    const notes = (await app!.get(Shards).dbFor('acme')).getRepository(Note);
    await expect(notes.countBy({ tenantId: 'acme' })).resolves.toBe(0);
  });

  it('refuses sharded entities and says where they live', async () => {
    await boot(databases.options(), { providers: [ControlUser] });
    const { control } = app!.get(ControlUser);
    expect(() => control.getRepository(Note).metadata).toThrow(
      expect.objectContaining({
        code: 'sharded_entity_on_control',
        message: 'Note lives on shards, not on the control database: use ShardedDb, or Shards.dbFor(key)',
      }),
    );
    await expect(control.manager.find(Note)).rejects.toMatchObject({ code: 'sharded_entity_on_control' });
  });

  it('that is missing fails the boot only of those who need it', async () => {
    const without = databases.options();
    delete without.database.primaryUrl;
    await boot(without);
    await app!.close();
    await expect(bootApp(without, { providers: [ControlUser] })).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining(
        '@InjectControl() needs a control database: set [database] primary_url',
      ),
    });
  });
});

describe('without shards', () => {
  it('the control database is the only shard, "default", with the sharded entities', async () => {
    const options: ShardingOptions = { database: { primaryUrl: databases.shards[0]! }, entities: [Note] };
    await boot(options, { providers: [ControlUser] });
    const shards = app!.get(Shards);
    expect(shards.all().map(({ name, slots }) => [name, slots])).toEqual([['default', 16384]]);
    const db = await shards.dbFor('any tenant');
    await db.getRepository(Note).insert({ tenantId: 'any tenant', body: 'one' });
    await expect(app!.get(ControlUser).control.getRepository(Note).count()).resolves.toBe(1);
  });
});

describe('ShardingModule', () => {
  it('refuses a second forRoot in one application', async () => {
    const again = ShardingModule.forRoot(databases.options());
    await expect(bootApp(databases.options(), { imports: [again] })).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining('imported twice'),
    });
  });

  it.each(['useFactory', 'useClass', 'useExisting'] as const)('takes its options through %s', async (how) => {
    @Injectable()
    class Options implements ShardingOptionsFactory {
      createShardingOptions(): ShardingOptions {
        return databases.options();
      }
    }
    @Module({ providers: [Options], exports: [Options] })
    class OptionsModule {}
    const imports = [OptionsModule];
    const module = {
      useFactory: () =>
        ShardingModule.forRootAsync({
          imports,
          inject: [Options],
          useFactory: (from: Options) => from.createShardingOptions(),
        }),
      useClass: () => ShardingModule.forRootAsync({ useClass: Options }),
      useExisting: () => ShardingModule.forRootAsync({ imports, useExisting: Options }),
    }[how]();
    @Module({ imports: [module] })
    class Root {}
    app = await NestFactory.create(Root, { logger: false, abortOnError: false });
    await app.init();
    expect(app.get(Shards).all()).toHaveLength(2);
  });

  it('hands entities and options to a DataSource that the application builds itself', async () => {
    const built: string[] = [];
    await boot({
      ...databases.options(),
      createDataSource: (target, role, options) => {
        built.push(`${target} ${role}`);
        return new DataSource({ ...options, applicationName: 'own' });
      },
    });
    const db = await app!.get(Shards).dbOn('shard1');
    await expect(db.query('show application_name')).resolves.toEqual([{ application_name: 'own' }]);
    await expect(db.getRepository(Note).count()).resolves.toBe(0);
    expect(built).toEqual(['control primary', 'shard:shard0 primary', 'shard:shard1 primary']);
  });

  it('asks for health and cancels through the DataSource that the application builds', async () => {
    const stale = databases.shards.map((url, index) => ({
      name: `shard${index}`,
      primaryUrl: url.replace(':secret@', ':stale@'),
    }));
    await boot({
      ...databases.options({ primaryUrl: databases.control.replace(':secret@', ':stale@'), shards: stale }),
      createDataSource: (_target, _role, options) =>
        new DataSource({ ...options, password: async () => 'secret' }),
    });
    const url = await listen(app!);
    expect((await call(`${url}/health`)).status).toBe(200);
    const [outcome] = await app!
      .get(Shards)
      .each((db) => db.query('select pg_sleep(20)'), { deadlineMs: 100 });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'deadline_exceeded' } });
    await waitFor(
      async () =>
        app!
          .get(Shards)
          .all()
          .every((shard) => shard.stats().active === 0),
      { what: 'the cancels' },
    );
  });

  it('bounds an application that never finishes building one, in health too', async () => {
    const options = databases.options({ connectTimeoutMs: 100 });
    delete options.database.primaryUrl;
    await boot({ ...options, createDataSource: () => new Promise<never>(() => undefined) });
    await expect(app!.get(Shards).dbOn('shard0')).rejects.toMatchObject({ code: 'deadline_exceeded' });
    expect((await call(`${await listen(app!)}/health`)).status).toBe(503);
  });

  it('shows no password through the objects it gives out', async () => {
    const { inspect } = await import('node:util');
    await boot(databases.options(), { providers: [ControlUser] });
    const db = await app!.get(Shards).dbOn('shard0');
    const shown = inspect([app!.get(Shards), db, app!.get(ControlUser).control.options], {
      depth: 12,
      showHidden: true,
    });
    expect(shown + JSON.stringify(db.manager.connection.options)).not.toContain('secret');
  });
});

it('two injections of ShardedDb in one request are one object on one shard (C13)', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class Notebook {
    constructor(@Inject(ShardedDb) readonly db: ShardedDb) {}
  }
  @Controller('same')
  class SameController {
    constructor(
      @Inject(ShardedDb) private readonly db: ShardedDb,
      @Inject(Notebook) private readonly notebook: Notebook,
    ) {}
    @Get()
    same(): { same: boolean; shard: string } {
      return { same: this.db === this.notebook.db, shard: this.db.shard.name };
    }
  }
  await boot(databases.options(), { controllers: [SameController], providers: [Notebook] });
  const url = await listen(app!);
  const bodies = await Promise.all(
    ['acme', 'globex', 'acme'].map((tenant) => call(`${url}/same`, { tenant })),
  );
  expect(bodies.map(({ body }) => body)).toEqual(
    ['shard0', 'shard1', 'shard0'].map((shard) => ({ same: true, shard })),
  );
});

describe('ShardedDb without a request (C15)', () => {
  it('is refused with an error that points to Shards', async () => {
    await boot(databases.options());
    const resolved = app!.get(ModuleRef).resolve(ShardedDb, ContextIdFactory.create(), { strict: false });
    await expect(resolved).rejects.toMatchObject({
      code: 'no_routing_key',
      message: expect.stringContaining('Shards.dbFor(key)'),
    });
  });

  it('Shards is a singleton that works in jobs, and makes nothing request-scoped', async () => {
    @Injectable()
    class NightlyJob {
      constructor(readonly shards: Shards) {}
      async run(payload: { tenantId: string }): Promise<string> {
        return this.shards.runFor(
          payload.tenantId,
          async (db) => `${db.shard.name} ${await sharding.tenantOf()}`,
        );
      }
    }
    await boot(databases.options(), {
      providers: [
        { provide: NightlyJob, inject: [Shards], useFactory: (shards: Shards) => new NightlyJob(shards) },
      ],
    });
    await expect(app!.get(NightlyJob).run({ tenantId: 'globex' })).resolves.toBe('shard1 globex');
    expect(app!.get(ModuleRef).introspect(NightlyJob).scope).toBe(Scope.DEFAULT);
  });
});
