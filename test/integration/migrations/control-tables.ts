import pg from 'pg';
import { controlDatabase } from '../../support/control-database.js';
import { runOnce, withClient, type Row } from '../../support/admin-query.js';

const CHANNEL = '_sharding_directory';

/** A control database with the library's own tables, asked with plain SQL. */
export class ControlTables {
  private constructor(readonly url: string) {}

  static async create(): Promise<ControlTables> {
    return new ControlTables(await controlDatabase());
  }

  /** One statement on a connection of its own. */
  query(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    return runOnce(this.url, sql, params);
  }

  /** One statement, in a transaction that may take keys out of their groups. */
  allowed(sql: string): Promise<void> {
    return this.session(async (client) => {
      await client.query('begin');
      await client.query('set local sharding.allow_group_change = on');
      await client.query(sql);
      await client.query('commit');
    });
  }

  session<T>(work: (client: pg.Client) => Promise<T>, url = this.url): Promise<T> {
    return withClient(url, work);
  }

  async revision(): Promise<number> {
    const [row] = await this.query('select revision from _sharding_revision');
    return Number(row?.['revision']);
  }

  /** What was recorded after a revision: each key once, `null` for "any". */
  async changes(after = 0): Promise<(string | null)[]> {
    const sql = `select routing_key from _sharding_directory_changes where revision > $1 order by routing_key collate "C"`;
    const rows = await this.query(sql, [after]);
    return rows.map((row) => row['routing_key'] as string | null);
  }

  /** The log as `who key from->to why`, a place as `shard/group`. */
  async log(): Promise<string[]> {
    const rows = await this.query('select * from _sharding_placement_log order by id');
    const place = (shard: unknown, group: unknown) => `${shard ?? '-'}/${group ?? '-'}`;
    return rows.map((row) => {
      const from = place(row['from_shard'], row['from_group']);
      const to = place(row['to_shard'], row['to_group']);
      return `${row['who']} ${row['routing_key']} ${from}->${to} ${row['why'] ?? '-'}`;
    });
  }

  /** The payloads that are sent while `work` runs, in the order of the commits. */
  async notifications(work: () => Promise<unknown>): Promise<string[]> {
    return this.session(async (client) => {
      const payloads: string[] = [];
      let done = (): void => undefined;
      const ended = new Promise<void>((resolve) => (done = resolve));
      client.on('notification', ({ payload = '' }) => (payload === 'end' ? done() : payloads.push(payload)));
      await client.query(`listen ${CHANNEL}`);
      await work();
      await this.query(`select pg_notify('${CHANNEL}', 'end')`);
      await ended;
      return payloads;
    });
  }
}
