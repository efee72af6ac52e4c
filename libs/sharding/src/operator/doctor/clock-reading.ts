import type pg from 'pg';

/** A server's clock, compared with that of this machine. */
export interface ClockReading {
  /** How far it is ahead. */
  readonly aheadMs: number;
  /** Half the round trip: the truth is no further from it. */
  readonly withinMs: number;
}

const SAMPLES = 3;

/** The reading with the shortest round trip. */
export async function readClock(client: pg.Client): Promise<ClockReading> {
  const readings: ClockReading[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) readings.push(await readOnce(client));
  return readings.reduce((best, next) => (next.withinMs < best.withinMs ? next : best));
}

async function readOnce(client: pg.Client): Promise<ClockReading> {
  const [sentAt, began] = [Date.now(), performance.now()];
  const { rows } = await client.query<{ now: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const withinMs = (performance.now() - began) / 2;
  return { aheadMs: (rows[0]?.now ?? 0) - (sentAt + withinMs), withinMs };
}
