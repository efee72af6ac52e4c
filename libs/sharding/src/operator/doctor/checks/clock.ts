import { check } from '../check.js';
import type { ClockReading } from '../clock-reading.js';
import type { Verdict } from '../finding.js';

const MOST_MS = 1000;

/** Clocks agree: leases, lags and ids with a time in them are compared between machines. */
export const clock = check({
  name: 'clock',
  scope: 'target',
  judge: (_found, { servers }) =>
    clockVerdicts(
      servers
        .filter(({ way }) => way.name === 'url')
        .map(({ way, clock: reading }) => ({ target: way.place.label, ...reading })),
    ),
});

type Clock = ClockReading & { readonly target: string };

const REMEDY = 'see that NTP or chrony runs on all machines and is in step';

/** What half the round trip could explain is no skew. */
export function clockVerdicts(clocks: readonly Clock[]): Verdict[] {
  const skewed = clocks.filter(({ aheadMs, withinMs }) => Math.abs(aheadMs) - withinMs > MOST_MS);
  if (skewed.length > 0) {
    return skewed.map(({ target, aheadMs }) => ({
      severity: 'warning',
      target,
      reason: `its clock is ${seconds(aheadMs)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine`,
      remedy: REMEDY,
    }));
  }
  return apart(clocks);
}

/** Each agrees with this machine, and they do not with each other. */
function apart(clocks: readonly Clock[]): Verdict[] {
  const [first] = clocks;
  if (!first) return [];
  const slowest = clocks.reduce((least, next) => (next.aheadMs < least.aheadMs ? next : least), first);
  const fastest = clocks.reduce((most, next) => (next.aheadMs > most.aheadMs ? next : most), first);
  const difference = fastest.aheadMs - slowest.aheadMs;
  if (difference - fastest.withinMs - slowest.withinMs <= MOST_MS) return [];
  return [
    {
      severity: 'warning',
      target: fastest.target,
      reason: `its clock is ${seconds(difference)} s ahead of that of ${slowest.target}`,
      remedy: REMEDY,
    },
  ];
}

function seconds(ms: number): string {
  return (Math.abs(ms) / 1000).toFixed(1);
}
