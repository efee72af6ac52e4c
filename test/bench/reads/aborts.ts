import { setTimeout as pause } from 'node:timers/promises';
import { Shards } from '@app/sharding';
import { waitFor } from '../../support/wait-for.js';
import { atATime, POOL_SIZE, type Place } from './place.js';
import { boot } from './service.js';

const REQUESTS = 2000;
const WIDTH = 32;

/** Requests whose client goes away in the middle of a statement; `leaked`: connections and sessions left over. */
export async function measureAborts(at: Place): Promise<{ aborted: number; leaked: number }> {
  const app = await boot({
    cancelOnDisconnect: true,
    shards: [{ name: 'shard0', primaryUrl: at.primary.url(at.database) }],
  });
  try {
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/slow`;
    const shard = app.get(Shards).named('shard0');
    const sessions = async () => {
      const [row] = await at.primary.query(
        `select count(*)::int as n from pg_stat_activity where datname = $1 and state <> 'idle'`,
        [at.database],
      );
      return Number(row?.['n']);
    };
    let aborted = 0;
    await atATime(WIDTH, REQUESTS, async (index) => {
      const abort = new AbortController();
      const answer = fetch(url, {
        method: 'POST',
        headers: { 'x-tenant-id': 'tenant-1', 'content-type': 'application/json' },
        body: '{"seconds":60}',
        signal: abort.signal,
      });
      answer.catch(() => undefined);
      await pause(1 + (index % 20));
      abort.abort();
      await answer.then(
        () => undefined,
        () => void aborted++,
      );
    });
    const quiet = async () =>
      shard.stats().active === 0 && shard.stats().waiting === 0 && (await sessions()) === 0;
    await waitFor(quiet, { what: 'the statements to end', timeoutMs: 30_000 }).catch(() => undefined);
    const { active, waiting, idle, max } = shard.stats();
    const over = Math.max(0, active + idle - max);
    if (max !== POOL_SIZE) throw new Error('the pool changed its size');
    return { aborted, leaked: active + waiting + over + (await sessions()) };
  } finally {
    await app.close();
  }
}
