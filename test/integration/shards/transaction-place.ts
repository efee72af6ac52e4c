import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Shards, type ShardDb } from '@app/sharding';
import { expectNoConnections, waitFor } from '@test/support';
import { Note, bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';

/** An application over two shards with a small pool; `db` is shard0, whose table is empty before each test. */
export class TransactionPlace {
  databases!: Deployment;
  shards!: Shards;
  db!: ShardDb;
  #app!: INestApplication;

  /** For one spec file: begins before its tests, and fails them where a connection is left behind. */
  static forFile(): TransactionPlace {
    const place = new TransactionPlace();
    beforeAll(() => place.#start());
    beforeEach(() => place.databases.query(0, 'truncate notes'));
    afterAll(() => place.#end());
    return place;
  }

  readonly insert = (on: ShardDb, body: string) => on.getRepository(Note).insert({ tenantId: 'acme', body });

  /** What shard0 has, asked behind the library's back. */
  readonly bodies = async () =>
    (await this.databases.query(0, 'select body from notes order by body')).map((row) => row['body']);

  readonly poolIsQuiet = () =>
    waitFor(async () => this.db.shard.stats().active === 0, {
      what: 'the pool to have every connection back',
    });

  async #start(): Promise<void> {
    this.databases = await deployment(2);
    this.#app = await bootApp(this.databases.options({ poolSize: 2 }));
    this.shards = this.#app.get(Shards);
    this.db = await this.shards.dbOn('shard0');
  }

  async #end(): Promise<void> {
    await this.#app.close();
    for (const url of this.databases.shards) await expectNoConnections(url);
  }
}
