import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { CONTROL_DATA_SOURCE, CONTROL_READER, InjectControl, Reader, ShardingModule } from '@app/sharding';
import { bootApp, deployment, type Deployment } from '../support/deployment.js';
import type { INestApplicationContext } from '@nestjs/common';

@Injectable()
class ControlUser {
  constructor(
    @InjectControl() readonly source: DataSource,
    @InjectControl('reader') readonly reader: Reader,
  ) {}
}

let databases: Deployment;
let app: INestApplicationContext;

beforeAll(async () => {
  databases = await deployment(1);
});

afterEach(() => app.close());

it('the tokens of the control database are singletons that app.get() gives, the same as are injected', async () => {
  app = await bootApp(databases.options(), { providers: [ControlUser] });
  const source = app.get<DataSource>(CONTROL_DATA_SOURCE);
  expect(source).toBe(app.get(ControlUser).source);
  expect(app.get<Reader>(CONTROL_READER)).toBe(app.get(ControlUser).reader);
  expect(await source.query('select 1 as one')).toEqual([{ one: 1 }]);
  expect(await app.get<Reader>(CONTROL_READER).query('select 2 as two')).toEqual([{ two: 2 }]);
});

it('they are undefined where there is no control database', async () => {
  const without = databases.options();
  delete without.database.primaryUrl;
  app = await bootApp(without);
  expect([app.get(CONTROL_DATA_SOURCE), app.get(CONTROL_READER)]).toEqual([undefined, undefined]);
});

it('what a test puts in their place is injected', async () => {
  const source = new DataSource({ type: 'postgres', url: databases.control });
  @Module({ imports: [ShardingModule.forRoot(databases.options())], providers: [ControlUser] })
  class ControlModule {}
  const building = Test.createTestingModule({ imports: [ControlModule] });
  app = await building.overrideProvider(CONTROL_DATA_SOURCE).useValue(source).compile();
  expect(app.get(ControlUser).source).toBe(source);
});
