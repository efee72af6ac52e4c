import type { ShardingSettings } from '../sharding.settings.js';
import type { LockPatience } from './lock-retries.js';
import type { LockWait } from './migration-lock.js';

/** One line for the operator, always with `target=`. */
export type MigrationLog = (line: string) => void;

/** How carefully a target is changed. */
export interface MigrationLimits {
  /** How long to wait for another migrator. Default 600000. */
  readonly waitMs?: number;
  /** Of each wait for a lock. Default: that of the settings, 5000. */
  readonly lockTimeoutMs?: number;
  /** How often a migration that gets no lock is tried. Default 6. */
  readonly lockAttempts?: number;
  /** Cancels what runs; its transaction is rolled back. */
  readonly signal?: AbortSignal;
}

interface Run {
  readonly settings: ShardingSettings;
  readonly log: MigrationLog;
  readonly options: MigrationLimits;
}

const DEFAULT_WAIT_MS = 600_000;
const DEFAULT_LOCK_ATTEMPTS = 6;

export function waitOf(target: string, { log, options }: Run): LockWait {
  return { target, waitMs: options.waitMs ?? DEFAULT_WAIT_MS, signal: options.signal, log };
}

/** @param step the name of what is run */
export function patienceOf(target: string, { settings, log, options }: Run, step: string): LockPatience {
  const lockAttempts = options.lockAttempts ?? DEFAULT_LOCK_ATTEMPTS;
  return {
    lockTimeoutMs: options.lockTimeoutMs ?? settings.migrations.lockTimeoutMs,
    lockAttempts,
    signal: options.signal,
    note: (text) => log(`target=${target} ${text}`),
    again: (attempt) =>
      log(`target=${target} ${step} got no lock, attempt ${attempt} of ${lockAttempts}; tries again`),
  };
}
