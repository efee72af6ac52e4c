// oxlint-disable no-restricted-imports -- parts of a move are nobody's interface; their tests reach them here alone
import pg from 'pg';
import { contentOf, differences, type MovedContent } from '../../../libs/sharding/src/moves/content.js';
import { newSeeds } from '../../../libs/sharding/src/moves/fingerprint.js';
import { sessionOf, type MoveSession } from '../../../libs/sharding/src/moves/move-session.js';
import { movedTables } from '../../../libs/sharding/src/moves/tables/read-tables.js';

/** A column of each kind: values that differ in ways that a comparison may miss. */
export const KINDS: Readonly<Record<string, readonly string[]>> = {
  bigint: ['9007199254740993', '9007199254740992', '-9223372036854775808', '0', '1'],
  'numeric(38,18)': ['0.1', '0.100000000000000001', '12345678901234567890.123456789012345678', '-0.1', '0'],
  numeric: ['1.0', '1.00', '1', 'NaN', 'Infinity'],
  float8: ['0.30000000000000004', '0.3', '-0', '0', 'NaN', '5e-324'],
  text: ['a\tb', 'a\nb', 'a\\nb', '\\N', '\\.', '', ' ', 'a,b', '"a"', '(a)', 'ß', 'ss', 'é', 'e\u0301'],
  bytea: ['\\x00ff5c', '\\x00ff5d', '\\x', '\\x00', '\\x5c78'],
  bool: ['t', 'f'],
  date: ['2026-11-30', '2026-12-01', '0001-01-01 BC', 'infinity'],
  timestamptz: ['2026-03-08 02:30:00.123456+00', '2026-03-08 02:30:00.123457+00', '-infinity'],
  interval: ['1 mon', '30 days', '720:00:00', '-1 mon +30 days', '00:00:00.000001'],
  uuid: ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001'],
  json: ['{"a":1}', '{"a": 1}', '{"a":1,"a":1}', 'null', '-0', '0'],
  jsonb: ['{"a":1}', '{"a":1.0}', 'null', '[1,"x",{"a":null}]', '[]'],
  'text[]': ['{a,NULL}', '{a,"NULL"}', '{}', '[2:3]={a,b}', '{a,b}', '{{a,b}}', '{"a,b"}'],
  mood: ['sad', 'happy', 'closed'],
  inet: ['10.0.0.1/8', '10.0.0.1', '::1', '10.0.0.0/8'],
};

const column = (at: number) => `c${at}`;
const kinds = Object.keys(KINDS);

export const TABLE: readonly string[] = [
  `create type mood as enum ('sad', 'happy', 'closed')`,
  `create table cells (id int primary key, tenant_id text not null,
    ${kinds.map((kind, at) => `${column(at)} ${kind}`).join(', ')},
    doubled bigint generated always as (c0 % 1000 * 2) stored)`,
];

/** What a database, or a role, may have been set to. */
export const HOSTILE = [
  ['TimeZone', 'America/New_York'],
  ['extra_float_digits', '-5'],
  ['bytea_output', 'escape'],
  ['IntervalStyle', 'iso_8601'],
  ['DateStyle', 'SQL, DMY'],
] as const;

export interface Cell {
  readonly row: number;
  /** Of {@link KINDS}. */
  readonly kind: number;
  /** Of the values of the kind; -1 is null. */
  readonly value: number;
}

/** One database with the table, seen as a mover sees it. Whoever opens it calls `close()`. */
export class CellSide {
  #proof: Awaited<ReturnType<typeof contentOf>> | undefined;

  private constructor(
    readonly session: MoveSession,
    private readonly content: MovedContent,
  ) {}

  static async open(url: string): Promise<CellSide> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const session = await sessionOf(client);
    const tables = await movedTables(session, { tables: ['cells'], keyColumn: 'tenant_id' });
    return new CellSide(session, { tables, rows: { scope: { keys: ['acme'] }, keyKind: 'text', kept: [] } });
  }

  /** Rows whose cells are given; -1 is null. */
  async fill(rows: readonly (readonly number[])[]): Promise<void> {
    for (const [id, row] of rows.entries()) {
      const values = row.map((value, kind) => (value < 0 ? null : KINDS[kinds[kind] ?? '']?.[value]));
      const names = kinds.map((_kind, at) => column(at)).join(', ');
      const casts = kinds
        .map((kind, at) => `$${at + 2}::text::${kind === 'mood' ? 'public.mood' : kind}`)
        .join(', ');
      await this.session.client.query(
        `insert into public.cells (id, tenant_id, ${names}) values ($1, 'acme', ${casts})`,
        [id, ...values],
      );
    }
  }

  async change({ row, kind, value }: Cell): Promise<void> {
    const type = kinds[kind] === 'mood' ? 'public.mood' : kinds[kind];
    const text = value < 0 ? null : (KINDS[kinds[kind] ?? '']?.[value] ?? null);
    await this.session.client.query(
      `update public.cells set ${column(kind)} = $1::text::${type} where id = $2`,
      [text, row],
    );
  }

  /** What the server sends of a cell in binary: the bytes that it has stored, whatever they mean. */
  async bytes({ row, kind }: Omit<Cell, 'value'>): Promise<string> {
    const name = column(kind);
    const { rows } = await this.session.client.query<{ bytes: string | null }>(
      `select encode(${SEND[kinds[kind] ?? '']}(${name}), 'hex') as bytes from public.cells where id = $1`,
      [row],
    );
    return rows[0]?.bytes ?? 'null';
  }

  /** Whether the proof of a move finds both sides equal; `cached`: this side is what it was the last time. */
  async equals(other: CellSide, reading: 'anew' | 'cached' = 'anew'): Promise<boolean> {
    if (!this.#proof || reading === 'anew') {
      this.#proof = await contentOf(this.session, this.content, newSeeds());
    }
    const theirs = await contentOf(other.session, other.content, this.#proof.seeds);
    return differences(this.#proof, theirs).length === 0;
  }

  async begin(): Promise<void> {
    await this.session.client.query('begin');
  }

  async rollback(): Promise<void> {
    await this.session.client.query('rollback');
  }

  close(): Promise<void> {
    return this.session.client.end();
  }
}

/** The functions by which the server sends a type in binary. */
const SEND: Readonly<Record<string, string>> = {
  bigint: 'int8send',
  'numeric(38,18)': 'numeric_send',
  numeric: 'numeric_send',
  float8: 'float8send',
  text: 'textsend',
  bytea: 'byteasend',
  bool: 'boolsend',
  date: 'date_send',
  timestamptz: 'timestamptz_send',
  interval: 'interval_send',
  uuid: 'uuid_send',
  json: 'json_send',
  jsonb: 'jsonb_send',
  'text[]': 'array_send',
  mood: 'enum_send',
  inet: 'inet_send',
};
