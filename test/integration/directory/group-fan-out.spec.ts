import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Param } from '@nestjs/common';
import { CrossShard, scatterRepository, Shards, type CrossShardFanOut } from '@app/sharding';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { byPrefix, Grouped, TenantNote } from './groups.js';
import type { INestApplication } from '@nestjs/common';
import type { Placed } from './placed.js';

@Controller('fan')
class FanController {
  @Get(':group')
  async shards(@CrossShard() fan: CrossShardFanOut, @Param('group') group: string): Promise<object> {
    const outcomes = await fan.each((reader) => reader.query('select 1'), { group: Number(group) });
    return outcomes.map(({ shard, ok }) => [shard.name, ok]);
  }
}

let grouped: Grouped;
let placed: Placed;

beforeAll(async () => {
  grouped = await Grouped.create(3);
  ({ placed } = grouped);
});
afterEach(() => placed.closeApps());

describe('a fan-out with { group }', () => {
  const options = () => ({
    database: grouped.database(),
    groupOf: byPrefix,
    entities: [TenantNote],
    crossShardAccess: () => true,
  });
  let app: INestApplication;

  const reads = () => scatterRepository(TenantNote, { shards: app.get(Shards) });
  const names = (outcomes: readonly { shard: { name: string }; ok: boolean }[]) =>
    outcomes.map(({ shard, ok }) => [shard.name, ok]);

  it('runs on the shards of the group and on no other', async () => {
    app = await placed.boot(options());
    const shards = app.get(Shards);
    const all = [
      ['shard0', true],
      ['shard1', true],
      ['eu0', true],
      ['mx0', true],
    ];
    const ways = [
      (group?: number) => shards.each((db) => db.query('select 1'), group === undefined ? {} : { group }),
      (group?: number) =>
        shards.eachReader((reader) => reader.query('select 1'), group === undefined ? {} : { group }),
    ];
    for (const way of ways) {
      expect([names(await way()), names(await way(0)), names(await way(7)), names(await way(9))]).toEqual([
        all,
        all.slice(0, 2),
        all.slice(2, 3),
        all.slice(3),
      ]);
      await expect(way(5)).rejects.toMatchObject({ code: 'out_of_topology' });
    }
  });

  it('holds for @CrossShard() without an entity', async () => {
    app = await placed.boot(options(), { controllers: [FanController] });
    const url = await listen(app);
    const bodies = await Promise.all(
      [0, 7, 9].map(async (group) => (await call(`${url}/fan/${group}`)).body),
    );
    expect(bodies).toEqual([
      [
        ['shard0', true],
        ['shard1', true],
      ],
      [['eu0', true]],
      [['mx0', true]],
    ]);
    expect(await call(`${url}/fan/5`)).toMatchObject({ status: 500, body: { code: 'out_of_topology' } });
  });

  it('holds for every read of a cross-shard repository', async () => {
    app = await placed.boot(options());
    for (const key of ['acme', 'globex', 'eu-1', 'eu-2', 'mx-1']) {
      const db = await app.get(Shards).dbFor(key);
      await db.query('insert into notes (tenant_id, body) values ($1, $2)', [key, key]);
    }
    const order = { tenantId: 'ASC' } as const;
    const eu = { group: 7 } as const;
    const texts = (rows: readonly object[]) => rows.map((row) => (row as TenantNote).tenantId);
    const repository = reads();
    const first = await repository.page({ order, take: 1, ...eu });
    const second = await repository.page({ order, take: 1, after: first.next, ...eu });
    const streamed: object[] = [];
    for await (const row of repository.stream({ order, ...eu })) streamed.push(row);
    expect({
      find: texts(await repository.find({ order, ...eu })),
      findBy: texts(await repository.findBy({ body: 'acme' }, eu)),
      findOneBy: await repository.findOneBy({ body: 'acme' }, eu),
      count: await repository.count(eu),
      countBy: [await repository.countBy({}, eu), await repository.countBy({}, { group: 9 })],
      exists: await repository.exists({ where: { body: 'mx-1' }, ...eu }),
      existsBy: await repository.existsBy({ body: 'mx-1' }, eu),
      countDistinct: await repository.countDistinct('body', undefined, eu),
      minimum: await repository.minimum('body', undefined, eu),
      maximum: await repository.maximum('body', undefined, { group: 0 }),
      groupBy: await repository.groupBy(
        ['body'],
        { notes: { count: '*' } },
        { order: { body: 'DESC' }, ...eu },
      ),
      pages: [...texts(first.rows), ...texts(second.rows)],
      stream: texts(streamed),
      explain: (await repository.explain(eu)).shards.map(({ shard }) => shard),
      partial: await repository.count({ shards: 'partial', ...eu }),
      whole: await repository.count(),
    }).toEqual({
      find: ['eu-1', 'eu-2'],
      findBy: [],
      findOneBy: null,
      count: 2,
      countBy: [2, 1],
      exists: false,
      existsBy: false,
      countDistinct: 2,
      minimum: 'eu-1',
      maximum: 'globex',
      groupBy: [
        { body: 'eu-2', notes: 1 },
        { body: 'eu-1', notes: 1 },
      ],
      pages: ['eu-1', 'eu-2'],
      stream: ['eu-1', 'eu-2'],
      explain: ['eu0'],
      partial: { value: 2, missing: [] },
      whole: 5,
    });
    await expect(repository.page({ order, take: 1, after: first.next })).rejects.toMatchObject({
      code: 'invalid_cursor',
    });
    await expect(repository.count({ quorum: 2, ...eu })).rejects.toMatchObject({ code: 'invalid_options' });
  });

  it('refuses a group without shards before anything is read', async () => {
    app = await placed.boot(options());
    const nowhere = { group: 5 } as const;
    const repository = reads();
    const stream = async () => {
      for await (const row of repository.stream(nowhere)) return row;
      return undefined;
    };
    for (const read of [() => repository.find(nowhere), () => repository.explain(nowhere), stream]) {
      await expect(read()).rejects.toMatchObject({ code: 'out_of_topology' });
    }
    expect(
      app
        .get(Shards)
        .all()
        .map((shard) => shard.stats().idle),
    ).toEqual([0, 0, 0, 0]);
  });
});
