import { compare, median, type SideResult } from '../support/bench.js';
import { OWN_MIGRATIONS } from './own-migrations.js';
import { freshDatabases, type Place } from './place.js';
import { runShardctl } from './run-process.js';

/** Two ways to call `shardctl migrate`, each over empty databases and again behind it. Seconds. */
export interface MigrateResults {
  readonly serial: SideResult;
  readonly parallel: SideResult;
  readonly serialAgain: SideResult;
  readonly parallelAgain: SideResult;
  /** Of `serial` and `serialAgain`, the targets alone: without the start of the process. */
  readonly targets: SideResult;
  readonly targetsAgain: SideResult;
}

const WARMUP = 1;
/** A call with nothing to do is short beside the moments of the machine: the middle one of these counts. */
const CALLS_AGAIN = 3;

export async function compareMigrations(
  place: Place,
  parallel: number,
  rounds: number,
): Promise<MigrateResults> {
  const serial = new Calls(place, []);
  const wide = new Calls(place, ['--parallel', String(parallel)]);
  const sides = [
    { name: 'serial', run: () => serial.firstAndAgain() },
    { name: `--parallel ${parallel}`, run: () => wide.firstAndAgain() },
  ];
  const [first, second] = (await compare(sides, { rounds, warmup: WARMUP })) as [SideResult, SideResult];
  return {
    serial: first,
    parallel: second,
    serialAgain: { name: `${first.name}, again`, samples: serial.again.slice(WARMUP) },
    parallelAgain: { name: `${second.name}, again`, samples: wide.again.slice(WARMUP) },
    targets: { name: 'serial, targets alone', samples: serial.targets.slice(WARMUP) },
    targetsAgain: { name: 'serial, targets alone, again', samples: serial.targetsAgain.slice(WARMUP) },
  };
}

/** The calls of one side, round by round. Seconds. */
class Calls {
  readonly again: number[] = [];
  readonly targets: number[] = [];
  readonly targetsAgain: number[] = [];

  constructor(
    private readonly place: Place,
    private readonly args: readonly string[],
  ) {}

  /** @returns the seconds of the first call */
  async firstAndAgain(): Promise<number> {
    await freshDatabases(this.place);
    const first = await migrate(this.place, this.args, 'done');
    const later: Call[] = [];
    for (let call = 0; call < CALLS_AGAIN; call++)
      later.push(await migrate(this.place, this.args, 'skipped'));
    this.targets.push(first.targets);
    this.again.push(median(later.map(({ whole }) => whole)));
    this.targetsAgain.push(median(later.map(({ targets }) => targets)));
    return first.whole;
  }
}

/** Seconds of the process, and of its targets as it says itself. */
interface Call {
  readonly whole: number;
  readonly targets: number;
}

interface TargetAnswer {
  readonly state: string;
  readonly applied: readonly string[];
  readonly ms: number;
}

/** @throws Error when a target is not as it should be */
async function migrate(
  { cwd, databases }: Place,
  args: readonly string[],
  expected: 'done' | 'skipped',
): Promise<Call> {
  const { milliseconds, out } = await runShardctl(['migrate', ...args, '--json'], cwd);
  const { targets } = JSON.parse(out) as { targets: TargetAnswer[] };
  const right = targets.filter(({ state, applied }) => {
    const own = applied.filter((name) => OWN_MIGRATIONS.includes(name)).length;
    return state === expected && own === (expected === 'done' ? OWN_MIGRATIONS.length : 0);
  });
  if (right.length !== databases.length) {
    throw new Error(`${right.length} of ${databases.length} targets are ${expected}`);
  }
  return { whole: milliseconds / 1000, targets: targets.reduce((sum, { ms }) => sum + ms, 0) / 1000 };
}
