import { Scope } from '@nestjs/common';
import { configurationError } from './config/configuration-error.js';
import {
  CONTROL_DATA_SOURCE,
  CONTROL_READER,
  INJECTED_DATA_SOURCE,
  INJECTED_READER,
} from './request/inject-control.decorator.js';
import { Fleet } from './shards/fleet.js';
import type { FactoryProvider } from '@nestjs/common';
import type { ControlPool } from './shards/control-pool.js';

/** Gives parts of the program pools of their own on the control database. */
export class ControlPools {
  constructor(private readonly fleet: Fleet) {}

  /**
   * @param asker what needs it, for the message
   * @throws ShardingError `invalid_topology` without a control database
   */
  open(asker: string, poolSize: number): ControlPool {
    const pool = this.fleet.controlPool(poolSize);
    if (pool) return pool;
    throw configurationError([`${asker} need a control database: set [database] primary_url`]);
  }
}

/** Each as a singleton for `app.get()`, and as a provider that fails the boot of whoever injects what is not there. */
export function controlProviders(): FactoryProvider[] {
  return [
    { provide: ControlPools, inject: [Fleet], useFactory: (fleet: Fleet) => new ControlPools(fleet) },
    {
      provide: CONTROL_DATA_SOURCE,
      inject: [Fleet],
      useFactory: ({ control }: Fleet) => control?.dataSource,
    },
    {
      provide: CONTROL_READER,
      inject: [Fleet],
      useFactory: ({ control }: Fleet) => control?.reader(),
    },
    required(INJECTED_DATA_SOURCE, CONTROL_DATA_SOURCE),
    required(INJECTED_READER, CONTROL_READER),
  ];
}

/** Transient: made only when somebody injects it. */
function required(provide: symbol, token: symbol): FactoryProvider {
  return {
    provide,
    scope: Scope.TRANSIENT,
    inject: [token],
    useFactory: (value: unknown) => {
      if (value !== undefined) return value;
      throw configurationError(['@InjectControl() needs a control database: set [database] primary_url']);
    },
  };
}
