import { Option } from 'commander';
import { seconds, shardOption, wholeNumber } from '../arguments.js';
import { answersText, merge, mergedText, objects, type Merged } from '../output/query-answers.js';
import { queryShards, type QueryPlan, type ShardAnswer } from '../query-shards.js';
import { UsageError, type Report, type Verb } from '../verb.js';

interface QueryOptions {
  readonly shard?: string;
  readonly readonly?: true;
  readonly write?: true;
  readonly merge?: true;
  readonly limit: number;
  readonly timeout: number;
}

export const query: Verb<QueryOptions> = {
  name: 'query',
  group: 'databases',
  usage: '<sql>',
  summary: 'one statement on every shard, read only unless --write is given',
  description:
    'On the primaries, each in a transaction of its own: there is none over several shards. One shard that fails is named and ' +
    'stops no other; the exit code is then 1. Values are shown as PostgreSQL writes them.',
  options: () => [
    shardOption('this shard only'),
    new Option('--readonly', 'in a read-only transaction, which is rolled back (the default)').conflicts(
      'write',
    ),
    new Option('--write', 'in a transaction that is committed'),
    new Option('--merge', 'one table, with the shard in the first column'),
    new Option('--limit <rows>', 'rows of each shard').default(1000).argParser(wholeNumber(1, 1_000_000)),
    new Option('--timeout <seconds>', 'bound of the statement').default(30).argParser(seconds(86_400)),
  ],
  examples: [
    ["query 'select count(*) from bookmarks'", 'a count of each shard'],
    ["query 'select tenant_id, count(*) from bookmarks group by 1' --merge", 'one table'],
    ["query 'delete from bookmarks where id = 7' --shard shard1 --write", 'a repair on one shard'],
  ],
  async run({ args: [sql = ''], options }, session) {
    await assertOneStatement(sql);
    const { shardPlaces } = await import('@app/sharding/operator');
    const places = shardPlaces(await session.settings(), options.shard);
    const plan: QueryPlan = {
      sql,
      mode: options.write ? 'write' : 'readonly',
      limit: options.limit,
      timeoutMs: Math.ceil(options.timeout * 1000),
    };
    const answers = await queryShards(places, plan, session.signal);
    return options.merge ? mergedReport(answers) : report(answers);
  },
};

/** Told before anybody is asked; the server refuses a second statement too. */
async function assertOneStatement(sql: string): Promise<void> {
  const { bareSql } = await import('@app/sharding/operator');
  const bare = bareSql(sql).replace(/\bbegin\s+atomic\b[\s\S]*\bend\b/gi, ' '); // the body of a function
  const statements = bare.split(';').filter((statement) => statement.trim() !== '');
  if (statements.length === 1) return;
  if (statements.length === 0) throw new UsageError('there is no statement in the SQL');
  throw new UsageError(`one statement at a time, not ${statements.length}; nothing was sent`);
}

function report(answers: readonly ShardAnswer[]): Report {
  return {
    json: {
      shards: answers.map((answer) => {
        if (!answer.ok) return answer;
        const { command, columns, rows, rowCount, truncated } = answer.rows;
        return {
          shard: answer.shard,
          ok: true,
          command,
          row_count: rowCount,
          columns,
          rows: objects(columns, rows),
          truncated,
        };
      }),
    },
    text: (style) => answersText(answers, style),
    outcome: answers.every(({ ok }) => ok) ? 'ok' : 'failed',
    notes: truncatedNotes(answers),
  };
}

function mergedReport(answers: readonly ShardAnswer[]): Report {
  const merged: Merged = merge(answers);
  return {
    json: {
      columns: merged.columns,
      rows: objects(merged.columns, merged.rows),
      truncated: truncated(answers),
      failed: merged.failed.map(({ shard, error }) => ({ shard, error })),
    },
    text: (style) => mergedText(merged, style),
    outcome: merged.failed.length === 0 ? 'ok' : 'failed',
    notes: truncatedNotes(answers),
  };
}

function truncated(answers: readonly ShardAnswer[]): string[] {
  return answers.filter((answer) => answer.ok && answer.rows.truncated).map(({ shard }) => shard);
}

function truncatedNotes(answers: readonly ShardAnswer[]): string[] {
  const shards = truncated(answers);
  return shards.length === 0 ? [] : [`there are more rows on ${shards.join(', ')}; see --limit`];
}
