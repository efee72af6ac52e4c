/** npm run soak:moves -- --kills 500 [--seed 7]: the same test as in CI with more kills; bounded, and its seed is printed. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '500' }, seed: { type: 'string' } },
});
if (!/^[1-9]\d{0,5}$/.test(values.kills)) throw new Error('--kills takes a whole number up to 999999');
const env = {
  ...process.env,
  MOVE_KILLS: values.kills,
  FAULT_SEED: values.seed ?? String(Date.now() % 1_000_000),
};
const { status } = spawnSync('npm', ['test', '--', 'test/faults/mover-killed'], { env, stdio: 'inherit' });
process.exitCode = status ?? 1;
