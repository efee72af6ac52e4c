/** What tests and the demonstration need of a real PostgreSQL. Nothing in here knows Jest. */
export { DemoStage } from './demo-stage.js';
export { expectNoConnections } from './leaks.js';
export { FaultProxy } from './fault-proxy.js';
export { freePort } from './free-port.js';
export { PostgresServer, type ServerOptions } from './postgres-server.js';
export { createScratchDirectory, removeScratchDirectory } from './scratch-directory.js';
export { SmallDisk } from './small-disk.js';
export { seededPick, seededRandom } from './seeded-random.js';
export { TestCluster } from './test-cluster.js';
export { waitFor, type WaitOptions } from './wait-for.js';
