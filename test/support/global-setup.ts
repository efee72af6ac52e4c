import Module from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Cluster from './test-cluster.js';

/** What the set-up leaves for the tear-down, which Jest runs in the same process. */
export interface Shared {
  sharedServer?: { dispose(): Promise<void> };
  /** Of what test files share beside the server. */
  sharedDirectory?: { dispose(): Promise<void> };
}

/** Starts the server that all test files share (see `TestCluster.attach`), and makes room for compiled sources. */
export default async function globalSetup(): Promise<void> {
  const holder = globalThis as Shared;
  const restore = resolveSources();
  const { PostgresServer } = await import('./postgres-server.js');
  const { CLUSTER_VARIABLE } = await import('./test-cluster.js');
  const { COMPILED_VARIABLE } = await import('./compiled-sources.js');
  const scratch = await import('./scratch-directory.js');
  restore();
  const memory = await scratch.scratchInMemory();
  if (memory !== undefined) process.env[scratch.SCRATCH_VARIABLE] ||= memory;
  const directory = await scratch.createScratchDirectory({});
  holder.sharedDirectory = { dispose: () => scratch.removeScratchDirectory(directory) };
  process.env[COMPILED_VARIABLE] = directory;
  const server = await PostgresServer.start({ name: 'shared test server' });
  holder.sharedServer = server;
  const facts: Cluster.ClusterFacts = { url: server.url() };
  process.env[CLUSTER_VARIABLE] = JSON.stringify(facts);
}

type Resolve = (request: string, parent?: { readonly path?: string }, ...rest: unknown[]) => string;

/**
 * Jest loads this one file as CommonJS and without `moduleNameMapper`, so an import of `./x.js` would not find the
 * source `./x.ts`. Until the returned function is called, it does for the files of this directory.
 */
function resolveSources(): () => void {
  const loader = Module as unknown as { _resolveFilename: Resolve };
  const original = loader._resolveFilename;
  const here = dirname(fileURLToPath(import.meta.url));
  loader._resolveFilename = function (this: unknown, request, parent, ...rest) {
    const isSibling = request.startsWith('./') && request.endsWith('.js') && parent?.path === here;
    return original.call(this, isSibling ? request.replace(/\.js$/, '.ts') : request, parent, ...rest);
  };
  return () => (loader._resolveFilename = original);
}
