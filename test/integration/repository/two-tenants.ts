import { expectNoConnections } from '@test/support';
import { shardedRepositoryToken, type ShardedRepository } from '@app/sharding';
import { Folder, Page, library, type Library } from './library.js';

/** acme and globex live on the same shard; the tests act as acme. */
export class TwoTenants {
  private constructor(
    readonly place: Library,
    readonly pages: ShardedRepository<Page>,
    readonly folders: ShardedRepository<Folder>,
  ) {}

  /** The row of acme, and the one of globex, which is in a folder of globex; acme's row points there too. */
  own: Record<string, unknown> = {};
  theirs: Record<string, unknown> = {};

  static async start(): Promise<TwoTenants> {
    const place = await library(1);
    const of = <E extends object>(entity: new () => E) =>
      place.app.get<ShardedRepository<E>>(shardedRepositoryToken(entity));
    return new TwoTenants(place, of(Page), of(Folder));
  }

  async fill(): Promise<void> {
    const { place } = this;
    await place.query('truncate folders, pages restart identity');
    const [folder] = await place.query(
      `insert into folders (tenant_id, name) values ('globex', 'f') returning id`,
    );
    const insert = `insert into pages (tenant_id, slug, title, views, folder_id) values ($1, $2, $3, $4, $5) returning *`;
    const row = async (...values: unknown[]) =>
      (await place.query(insert, [...values, folder?.['id']]))[0] ?? {};
    this.theirs = await row('globex', 'secret', 'theirs', 7);
    this.own = await row('acme', 'home', 'ours', 1);
  }

  asAcme<T>(work: () => Promise<T>): Promise<T> {
    return this.place.shards.runFor('acme', work);
  }

  async theirsNow(): Promise<Record<string, unknown> | undefined> {
    return (await this.place.query('select * from pages where id = $1', [this.theirs['id']]))[0];
  }

  async stop(): Promise<void> {
    await this.place.app.close();
    for (const url of this.place.urls) await expectNoConnections(url);
  }
}
