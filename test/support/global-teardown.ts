import type { Shared } from './global-setup.js';

/** Stops the shared server, and removes the compiled sources. */
export default async function globalTeardown(): Promise<void> {
  const { sharedServer, sharedDirectory } = globalThis as Shared;
  await Promise.all([sharedServer?.dispose(), sharedDirectory?.dispose()]);
}
