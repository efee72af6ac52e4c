import { ModuleRef } from '@nestjs/core';
import { EntityPlaces, Shards } from '@app/sharding';
import { OutboxSignal } from '../outbox/outbox-signal.js';
import { ActionExecutor } from './action-executor.js';
import { resolveExecution } from './action-settings.js';
import type { Provider } from '@nestjs/common';
import type { ExecutionOptions } from './action-settings.js';

/** The executor's part of `ActionsModule`. @throws ShardingError `invalid_options` */
export function executorProviders(options: ExecutionOptions): Provider[] {
  const settings = resolveExecution(options);
  return [
    {
      provide: ActionExecutor,
      inject: [ModuleRef, Shards, EntityPlaces, OutboxSignal],
      useFactory: (...[modules, shards, places, outbox]: [ModuleRef, Shards, EntityPlaces, OutboxSignal]) =>
        new ActionExecutor({ modules, shards, places, outbox, settings }),
    },
  ];
}
