import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { migrate, resolveOptions, Shards, ShardingModule } from '@app/sharding';
import { waitFor } from '@test/support';
import { bookmarksOptions, call } from '../support/bookmarks.js';
import { BookmarksProcess } from '../support/bookmarks-process.js';
import { listen } from '../support/deployment.js';
import { OwnControl } from '../support/own-control.js';
import { signalProcess } from '../support/processes.js';
import type { OnModuleInit } from '@nestjs/common';

/** What a process costs its control database, what it says of itself there, and how it leaves. */
let control: OwnControl;

beforeEach(async () => {
  control = await OwnControl.start({ settings: { log_statement: 'all', log_line_prefix: '%a|' } });
});
afterEach(() => control.dispose());

async function logged(from: number): Promise<string[]> {
  const lines = (await control.server.log(1_000_000)).split('\n');
  return lines.slice(from).filter((line) => /\|LOG: {2}(statement|execute)/.test(line));
}

@Controller('where')
class WhereController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  async where(): Promise<{ shard: string }> {
    return { shard: (await this.shards.current()).shard.name };
  }
}

it('a thousand requests ask the control database nothing', async () => {
  const running = await control.boot({}, { controllers: [WhereController] });
  const url = await listen(running.app);
  await control.pin('tenant-1', running.other('tenant-1'));
  await running.untilRouted('tenant-1', running.other('tenant-1'));
  const from = (await control.server.log(1_000_000)).split('\n').length;
  const began = performance.now();
  for (let batch = 0; batch < 100; batch++) {
    const tenants = Array.from({ length: 10 }, (_, n) => `tenant-${batch * 10 + n}`);
    await Promise.all(
      tenants.map(async (tenant) => {
        const shard = tenant === 'tenant-1' ? running.other(tenant) : running.hashed(tenant);
        expect(await call(`${url}/where`, { tenant })).toMatchObject({ status: 200, body: { shard } });
      }),
    );
  }
  const seconds = (performance.now() - began) / 1000;
  const lines = await logged(from);
  const ofDirectory = lines.filter((line) => line.startsWith('nestjs-sharding directory'));
  expect(lines.filter((line) => line.startsWith('nestjs-sharding') && !ofDirectory.includes(line))).toEqual(
    [],
  );
  expect(ofDirectory.length).toBeLessThanOrEqual(2 + seconds * 1.4); // a heartbeat a second, a lease each ten
});

const PROCESSES = `select process_id, name, revision::int, lease_until > now() as lives from _sharding_processes
  order by started_at`;

describe('the lease of a process', () => {
  it('says which revision each routes by, and goes when it closes', async () => {
    const [one, two] = [await control.boot(), await control.boot()];
    await control.pin('acme', one.other('acme'));
    const [row] = await control.sql('select revision::int from _sharding_revision');
    const both = async () => {
      const rows = await control.sql(PROCESSES);
      return rows.length === 2 && rows.every(({ revision }) => revision === row!['revision']);
    };
    await waitFor(both, { what: 'both processes to confirm the revision' });
    expect(new Set((await control.sql(PROCESSES)).map(({ process_id }) => process_id)).size).toBe(2);
    await one.app.close();
    expect(await control.sql(PROCESSES)).toHaveLength(1);
    await two.app.close();
    expect(await control.sql(PROCESSES)).toEqual([]);
  });

  it('of a process that dies runs out by itself', async () => {
    const databases = { control: control.direct, shards: control.shards };
    await migrate(resolveOptions(bookmarksOptions(databases)), () => undefined);
    const service = await BookmarksProcess.start({
      ...databases,
      settings: { SHARDING_DATABASE__DIRECTORY_SHARD_ROUTER: 'true' },
    });
    try {
      await waitFor(async () => (await control.sql(PROCESSES)).length === 1, { what: 'its lease' });
    } finally {
      await service.dispose(); // SIGKILL
    }
    const left = await control.sql(
      `select extract(epoch from lease_until - now()) as seconds from _sharding_processes`,
    );
    expect(left).toHaveLength(1);
    expect(Number(left[0]!['seconds'])).toBeGreaterThan(15);
    expect(Number(left[0]!['seconds'])).toBeLessThanOrEqual(30);
  }, 60_000);

  it('that ended more than a day ago is taken away by the next process that comes', async () => {
    await control.sql(`insert into _sharding_processes (process_id, name, revision, lease_until) values
      (gen_random_uuid(), 'killed', 0, now() - interval '25 hours'), (gen_random_uuid(), 'late', 0, now() - interval '23 hours')`);
    await control.boot();
    const names = (await control.sql(PROCESSES)).map(({ name }) => String(name).replace(/.*:\d+/, 'own'));
    expect(names.toSorted()).toEqual(['late', 'own']);
  });

  it('that cannot be written costs no listener, and is written again when it can', async () => {
    const running = await control.boot();
    const ends = running.directory.revision + 12;
    await control.sql('alter table _sharding_processes rename to hidden');
    let lost = 0;
    const watch = setInterval(() => (lost += running.directory.listening ? 0 : 1), 5);
    for (let n = 0; running.directory.revision < ends; n++) {
      const key = `key-${n}`;
      await control.pin(key, running.other(key));
      await running.untilRouted(key, running.other(key));
    }
    clearInterval(watch);
    expect(lost).toBe(0);
    await control.sql('alter table hidden rename to _sharding_processes');
    expect(await control.sql(PROCESSES)).toMatchObject([{ revision: expect.any(Number) }]);
    const confirmed = async () =>
      (await control.sql(PROCESSES))[0]!['revision'] === running.directory.revision;
    expect(await confirmed()).toBe(false); // it was refused
    await waitFor(confirmed, { what: 'the revision to be confirmed', timeoutMs: 12_000 });
  });
});

describe('close', () => {
  it.each(['healthy', 'frozen'] as const)(
    'with a listener that is %s: bounded, and nothing is left',
    async (state) => {
      const running = await control.boot();
      const [listener] = await control.listeners();
      if (state === 'frozen') signalProcess(listener!, 'SIGSTOP');
      const began = performance.now();
      await running.app.close();
      expect(performance.now() - began).toBeLessThan(state === 'frozen' ? 6000 : 1500);
      expect(running.directory.listening && state === 'frozen').toBe(false);
      if (state === 'frozen') signalProcess(listener!, 'SIGCONT');
      const revision = running.directory.revision;
      await control.pin('acme', 'shard1');
      await waitFor(async () => (await control.listeners()).length === 0, { what: 'the connection to end' });
      expect(running.directory.revision).toBe(revision);
    },
  );

  it('in the middle of a reconnect to a server that hangs', async () => {
    const running = await control.boot();
    control.proxy.blackHole();
    await running.untilListening(false, 3000);
    const began = performance.now();
    await running.app.close();
    expect(performance.now() - began).toBeLessThan(6000);
    control.proxy.heal();
  });

  it('after a boot that failed somewhere else: nothing is left', async () => {
    @Injectable()
    class Broken implements OnModuleInit {
      constructor(@Inject(Shards) readonly shards: Shards) {}

      async onModuleInit(): Promise<void> {
        await this.shards.shardFor('acme');
        throw new Error('of the application');
      }
    }
    @Module({ imports: [ShardingModule.forRoot(control.options())], providers: [Broken] })
    class BrokenModule {}

    const app = await NestFactory.create(BrokenModule, { abortOnError: false, logger: false });
    await expect(app.init()).rejects.toThrow('of the application');
    expect(await control.listeners()).toHaveLength(1); // Nest tells nobody that a boot has failed
    await app.close();
    expect(await control.listeners()).toEqual([]);
  });
});
