import { Fleet } from './shards/fleet.js';
import { moveFleet } from './moves/move-fleet.js';
import { Moves } from './moves/moves.js';
import { SETTINGS } from './sharding.settings.js';
import type { FactoryProvider } from '@nestjs/common';
import type { ShardingSettings } from './sharding.settings.js';

/** Without a control database its verbs are refused; the boot goes on. */
export const movesProvider: FactoryProvider<Moves> = {
  provide: Moves,
  inject: [Fleet, SETTINGS],
  useFactory: (fleet: Fleet, settings: ShardingSettings) => new Moves(() => moveFleet(fleet, settings)),
};
