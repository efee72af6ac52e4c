import { clock } from './clock.js';
import { connections } from './connections.js';
import { directory } from './directory.js';
import { drift } from './drift.js';
import { foreignKeys } from './foreign-keys.js';
import { indexes } from './indexes.js';
import { migrations } from './migrations.js';
import { pooler } from './pooler.js';
import { replica } from './replica.js';
import { role } from './role.js';
import { sameDatabase } from './same-database.js';
import { sequences } from './sequences.js';
import { slotMap } from './slot-map.js';
import { tenantColumn } from './tenant-column.js';
import { tenantIndex } from './tenant-index.js';
import { text } from './text.js';
import { unique } from './unique.js';
import { version } from './version.js';
import type { Check } from '../check.js';

/** In the order of `CHECKS`; the configuration and reachability come before all of them. */
export const ALL_CHECKS: readonly Check[] = [
  role,
  sameDatabase,
  version,
  text,
  clock,
  replica,
  pooler,
  connections,
  migrations,
  indexes,
  tenantColumn,
  tenantIndex,
  unique,
  foreignKeys,
  sequences,
  drift,
  slotMap,
  directory,
];
