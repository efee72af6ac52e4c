import type { DirectorySettings } from '../sharding.settings.js';
import type { Lines } from './directory-log.js';
import type { Ways } from './follower.js';
import type { PinLookUps } from './pin-look-ups.js';
import type { PinProblems } from './pin-problems.js';
import type { ProcessLease } from './process-lease.js';

/** `snapshot`: all pins are in memory; `per_key`: there are too many, each is looked up; `unread`: not read yet. */
export type DirectoryMode = 'snapshot' | 'per_key' | 'unread';

export interface DirectoryParts {
  readonly settings: Omit<DirectorySettings, 'enabled'>;
  readonly ways: Ways;
  readonly lookUps: PinLookUps;
  readonly problems: PinProblems;
  readonly lease: ProcessLease;
  readonly log: Lines;
}
