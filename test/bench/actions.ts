import 'reflect-metadata';
import { PostgresServer } from '../support/postgres-server.js';
import { compareActions } from './actions/action-ratio.js';
import { printTable, ratio, writeResults, type SideResult } from './support/bench.js';

/** What an action costs, against the same work written by hand. */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 21);

const server = await PostgresServer.start({ name: 'bench' });
try {
  const actions = await compareActions(server, ROUNDS);
  printTable(actions, { title: 'one row and one event', unit: 'actions/s' });
  const [byHand, action] = actions as [SideResult, SideResult];
  writeResults('actions', { action_ratio: ratio(action, byHand) });
} finally {
  await server.dispose();
}
