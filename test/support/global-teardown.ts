import type { SharedServerHolder } from './global-setup.js';

/** Stops the shared server. */
export default async function globalTeardown(): Promise<void> {
  await (globalThis as SharedServerHolder).sharedServer?.dispose();
}
