import { Inject, Injectable } from '@nestjs/common';
import { Cron, Job, Jobs } from '@app/jobs';
import { Shards } from '@app/sharding';
import type { JobContext } from '@app/jobs';

/** Tenants that are asked for, and sent, at a time. */
const PAGE = 500;

/** Counts the tags of tenants: of one when it asks, of all at night. */
@Injectable()
export class Reindex {
  constructor(
    @Inject(Shards) private readonly shards: Shards,
    @Inject(Jobs) private readonly jobs: Jobs,
  ) {}

  /** A second request, while the first one waits, is the same. */
  async ask(tenantId: string): Promise<void> {
    await this.jobs.send('reindex-tenant', {}, { routingKey: tenantId, singletonKey: 'reindex' });
  }

  /** Runs on the shard where the tenant lives by then. */
  @Job('reindex-tenant', { routingKey: 'required' })
  async tenant(_payload: unknown, { routingKey: tenantId }: JobContext<string>): Promise<void> {
    const db = await this.shards.current();
    await db.tx(async (tx) => {
      await tx.query('delete from tag_counts where tenant_id = $1', [tenantId]);
      await tx.query(
        `insert into tag_counts (tenant_id, tag, bookmarks)
          select tenant_id, tag, count(*) from bookmarks where tenant_id = $1 group by tenant_id, tag`,
        [tenantId],
      );
    });
  }

  @Cron('0 3 * * *', { name: 'reindex-nightly' })
  async nightly(): Promise<void> {
    for (const { name } of this.shards.all())
      await this.jobs.send('reindex-shard', { shard: name }, { singletonKey: name });
  }

  /** A job for each tenant that has rows here. */
  @Job('reindex-shard', { routingKey: 'none' })
  async shard({ shard }: { shard: string }): Promise<void> {
    const db = await this.shards.dbOn(shard);
    for (let after = ''; ;) {
      const rows = await db.query<{ tenant_id: string }[]>(
        'select distinct tenant_id from bookmarks where tenant_id > $1 order by tenant_id limit $2',
        [after, PAGE],
      );
      for (const row of rows) await this.ask(row.tenant_id);
      const last = rows.at(-1);
      if (rows.length < PAGE || !last) return;
      after = last.tenant_id;
    }
  }
}
