import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Controller, Get, Inject } from '@nestjs/common';
import { Pins, Shards } from '@app/sharding';
import { withClient } from '../support/admin-query.js';
import { call } from '../support/bookmarks.js';
import { listen } from '../support/deployment.js';
import { OwnControl } from '../support/own-control.js';
import type { RunningDirectory } from '../support/own-control.js';

/** What others may try: forged notifications, strange keys, rows of their own, and looking who is pinned (S13, S14, S17). */
let control: OwnControl;

beforeEach(async () => {
  control = await OwnControl.start({ settings: { log_statement: 'all', log_line_prefix: '%a|' } });
});
afterEach(() => control.dispose());

/** Statements of the listening connection so far. */
async function questions(): Promise<number> {
  const lines = (await control.server.log(1_000_000)).split('\n');
  return lines.filter((line) => /^nestjs-sharding directory.*c\.revision is not null/.test(line)).length;
}

/** What any role that may connect can send: nothing like a revision, one of the future, 7,999 bytes. All differ: equal ones are merged. */
function payload(n: number): string {
  const forged = ['', 'x'.repeat(7990), '9'.repeat(30), '-', '\u0001\u{1F4A5}', '{"key":"acme"}'];
  return `${forged[n % forged.length]}${n}`;
}

async function forge(seconds: number): Promise<number> {
  let sent = 0;
  await withClient(control.direct, async (client) => {
    const ends = performance.now() + seconds * 1000;
    while (performance.now() < ends) {
      const batch = Array.from({ length: 200 }, () => payload(sent++));
      await client.query(`select pg_notify('_sharding_directory', p) from unnest($1::text[]) p`, [batch]);
    }
  });
  return sent;
}

it('forged notifications change no route, cost a bounded number of questions, and leave the process calm', async () => {
  const running = await control.boot();
  const to = running.other('acme');
  await control.pin('acme', to);
  await running.untilRouted('acme', to);
  const before = await questions();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const began = performance.now();
  let flooding = true;
  const wrong: string[] = [];
  const routing = (async () => {
    while (flooding) {
      const answers = [await running.route('acme'), await running.route('globex')];
      if (answers.join() !== [to, running.hashed('globex')].join()) wrong.push(answers.join());
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  const sent = await forge(3).finally(() => (flooding = false));
  await routing;
  delay.disable();
  const seconds = (performance.now() - began) / 1000;
  expect(sent).toBeGreaterThan(10_000);
  expect(wrong).toEqual([]);
  const cost = (await questions()) - before;
  expect(cost).toBeGreaterThan(seconds); // they were heard
  expect(cost).toBeLessThan(110 * seconds + 10);
  expect(delay.percentile(50) / 1e6).toBeLessThan(100);
  await control.pin('acme', running.hashed('acme'));
  await running.untilRouted('acme', running.hashed('acme'), 2000);
}, 60_000);

describe.each([
  ['all in memory', {}],
  ['each key looked up', { directorySnapshotMax: 1 }],
])('strange keys, %s', (_how, database) => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', ' ', ''];
  const signs = [
    `o'brien`,
    '"; drop table _sharding_directory; --',
    '$1',
    '\\',
    'a\nb',
    '%',
    '\u{1F3E2}',
    'é',
    'e\u0301',
  ];
  const pairs = ['Acme', 'ACME', 'acme', 'straße', 'STRASSE', 'x'.repeat(255), '\u{1F3E2}'.repeat(63)];
  const keys = [...names, ...signs, ...pairs];

  it('are pinned one by one, and no other key with them', async () => {
    const running = await control.boot(database);
    for (const key of keys) expect([key, await running.route(key)]).toEqual([key, running.hashed(key)]);
    for (const [index, key] of keys.entries()) {
      await control.pin(key, running.other(key));
      await running.untilRouted(key, running.other(key));
      for (const later of keys.slice(index + 1))
        expect(await running.route(later)).toBe(running.hashed(later));
    }
    for (const key of keys) expect([key, await running.route(key)]).toEqual([key, running.other(key)]);
  }, 60_000);

  it('that cannot be a key are refused, by the table too', async () => {
    const running = await control.boot(database);
    const pins = running.app.get(Pins);
    for (const key of ['x'.repeat(256), 'x'.repeat(8192), '\u{1F3E2}'.repeat(64), 'a\0b', '\ud800']) {
      expect(await running.route(key)).toBe('invalid_routing_key');
      await expect(pins.pin(key, 'shard1')).rejects.toMatchObject({ code: 'invalid_routing_key' });
    }
    for (const bytes of [256, 2700, 3200, 8000]) {
      const key = randomBytes(bytes / 2).toString('hex');
      await expect(control.pin(key, 'shard1')).rejects.toThrow('routing_key_is_at_most_255_bytes');
    }
  });
});

describe('rights (S14)', () => {
  const READ_ONLY = `create role app login password 'password';
    grant select on _sharding_directory, _sharding_revision, _sharding_directory_changes to app;
    grant insert, update, delete, select on _sharding_processes to app`;

  function urlOf(role: string): string {
    const url = new URL(control.proxy.url(control.direct));
    url.username = role;
    url.password = 'password';
    return url.href;
  }

  it('a role that may only read routes by the directory, and cannot pin', async () => {
    await control.sql(READ_ONLY);
    const running = await control.boot({ primaryUrl: urlOf('app') });
    await control.pin('acme', running.other('acme'));
    await running.untilRouted('acme', running.other('acme'));
    const pins = running.app.get(Pins);
    await expect(pins.pin('acme', running.hashed('acme'))).rejects.toThrow(/permission denied/);
    await expect(pins.unpin('acme')).rejects.toThrow(/permission denied/);
    await expect(pins.place('globex', { group: 0 })).rejects.toThrow(/permission denied/);
    expect(await running.route('acme')).toBe(running.other('acme'));
    expect(await control.sql('select name from _sharding_processes')).toHaveLength(1);
    expect(running.directory.listening).toBe(true);
  });

  it('a role that may not even write its lease routes all the same', async () => {
    await control.sql(`${READ_ONLY}; revoke all on _sharding_processes from app`);
    const running = await control.boot({ primaryUrl: urlOf('app') });
    await control.pin('acme', running.other('acme'));
    await running.untilRouted('acme', running.other('acme'));
    expect(running.directory.listening).toBe(true);
    expect(await control.sql('select from _sharding_processes')).toEqual([]);
  });

  it('a role without any rights: the boot is refused, says why, and leaves no connection', async () => {
    await control.sql(`create role app login password 'password'`);
    await expect(control.boot({ primaryUrl: urlOf('app') })).rejects.toMatchObject({
      code: 'directory_unavailable',
      message: expect.stringMatching(/may not use the directory: grant it select/),
    });
    expect(await control.listeners()).toEqual([]);
  });
});

@Controller('where')
class WhereController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  async where(): Promise<object> {
    await this.shards.current();
    return { ok: true };
  }
}

it('nobody learns from an answer who is pinned (S17)', async () => {
  const running: RunningDirectory = await control.boot({}, { controllers: [WhereController] });
  await control.pin('pinned', running.other('pinned'));
  await control.sql(`insert into _sharding_directory (routing_key, group_id) values ('placed', 0)`);
  await running.untilRouted('pinned', running.other('pinned'));
  const url = await listen(running.app);
  const tenants = ['pinned', 'placed', 'unpinned', 'never heard of'];
  for (const path of ['where', 'nowhere']) {
    const answers = await Promise.all(
      tenants.map(async (tenant) => {
        const response = await fetch(`${url}/${path}`, { headers: { 'x-tenant-id': tenant } });
        const headers = [...response.headers].filter(([name]) => name !== 'date');
        return { status: response.status, body: await response.text(), headers };
      }),
    );
    expect(answers).toEqual(answers.map(() => answers[0]));
  }
  expect(await call(`${url}/where`, { tenant: 'x'.repeat(300) })).toMatchObject({ status: 400 });
});
