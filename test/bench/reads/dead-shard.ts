import { waitFor } from '../../support/wait-for.js';
import { boot } from './service.js';
import type { Place } from './place.js';

const REQUESTS = 2000;

/** Latency of requests to a shard whose server is down, once its breaker is open. Milliseconds. */
export async function measureDeadShard(at: Place): Promise<{ p50: number; p99: number }> {
  const app = await boot({ shards: [{ name: 'shard0', primaryUrl: at.primary.url(at.database) }] });
  try {
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/count`;
    const ask = () => fetch(url, { headers: { 'x-tenant-id': 'tenant-1' } });
    if ((await ask()).status !== 200) throw new Error('the shard should be well first');
    await at.primary.kill();
    await waitFor(
      async () => ((await (await ask()).json()) as { message: string }).message.includes('probed'),
      {
        what: 'the breaker to open',
      },
    );
    const samples: number[] = [];
    for (let count = 0; count < REQUESTS; count++) {
      const began = performance.now();
      const answer = await ask();
      await answer.arrayBuffer();
      samples.push(performance.now() - began);
      if (answer.status !== 503) throw new Error(`${answer.status} instead of 503`);
    }
    const sorted = samples.toSorted((a, b) => a - b);
    const quantile = (q: number) => sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN;
    return { p50: quantile(0.5), p99: quantile(0.99) };
  } finally {
    await app.close();
  }
}
