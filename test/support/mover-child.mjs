/** One command of a mover as a process of its own, begun when its parent says so. */
import { once } from 'node:events';

const [root, text] = process.argv.slice(2);
const { options, verb, request } = JSON.parse(text);
const { resolveOptions } = await import(`${root}/libs/sharding/src/config/resolve-options.js`); // the index loads everything
const { withMoves } = await import(`${root}/libs/sharding/src/operator/index.js`);
const settings = resolveOptions(options);
await import(`${root}/libs/sharding/src/moves/moves.js`);
await import(`${root}/libs/sharding/src/operator/lend-fleet.js`);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const move = await withMoves(settings, (moves) => moves[verb](request, { leaseMs: 300 }));
process.stdout.write(`${move.state}\n`);
process.stdin.destroy();
