import pg from 'pg';

/** Rows of one statement as the server sends them. */
export interface Rows {
  readonly command: string;
  /** Unique: a second `id` is `id_2`. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  /** Changed or found; null where the statement counts none. */
  readonly rowCount: number | null;
  /** There were more rows than were asked for. */
  readonly truncated: boolean;
}

/** Numbers, booleans and JSON are themselves; everything else is the text of PostgreSQL. */
export type Value = unknown;

interface Connection {
  sync(): void;
}

/** What of `pg`'s own query is not in its types. */
const PagedQuery = pg.Query as unknown as new (
  config: object,
  callback: (error: Error | null, result: pg.QueryArrayResult<unknown[]>) => void,
) => pg.Submittable & { handlePortalSuspended(connection: Connection): void };

/**
 * Runs exactly one statement by the extended protocol, by which the server takes no second one behind a semicolon. It
 * sends at most `limit` rows and one more.
 *
 * @throws the server's error
 */
export function oneStatement(client: pg.Client, sql: string, limit: number): Promise<Rows> {
  return new Promise((resolve, reject) => {
    const config = { text: sql, queryMode: 'extended', rowMode: 'array', rows: limit + 1, types: TYPES };
    const query = new PagedQuery(config, (error, result) => {
      if (error) reject(error);
      else resolve(rowsOf(result, limit));
    });
    query.handlePortalSuspended = (connection) => connection.sync(); // the rest is not wanted
    client.query(query);
  });
}

function rowsOf({ command, fields, rows, rowCount }: pg.QueryArrayResult<unknown[]>, limit: number): Rows {
  return {
    command: command ?? '',
    columns: unique(fields.map(({ name }) => name)),
    rows: rows.slice(0, limit),
    rowCount: rowCount ?? null,
    truncated: rows.length > limit,
  };
}

/** Every name once: what comes again has its number behind it. */
export function unique(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let count = 2; taken.has(free); count++) free = `${name}_${count}`;
    taken.add(free);
    return free;
  });
}

const BOOL = 16;
const JSON_TYPES = [114, 3802];
/** int2, int4, oid, float4, float8; an int8 or numeric may be more than a number of JavaScript holds. */
const NUMBERS = [21, 23, 26, 700, 701];

const TYPES = {
  getTypeParser: (type: number) => (text: string) => {
    if (type === BOOL) return text === 't';
    if (JSON_TYPES.includes(type)) return JSON.parse(text) as unknown;
    const number = Number(text);
    return NUMBERS.includes(type) && Number.isFinite(number) ? number : text;
  },
};
