import { ModuleRef } from '@nestjs/core';
import { CONTROL_DATA_SOURCE, EntityPlaces, Shards } from '@app/sharding';
import { databasesOf } from '../cross/databases-of.js';
import { Actions } from '../operator/actions.js';
import { OutboxSignal } from '../outbox/outbox-signal.js';
import { ActionRetention } from '../retention/action-retention.js';
import { ActionExecutor } from './action-executor.js';
import { resolveExecution } from './action-settings.js';
import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { ActionSettings, ExecutionOptions } from './action-settings.js';

type Needed = [ModuleRef, Shards, EntityPlaces, OutboxSignal, Actions, DataSource | undefined];

/** The executor's part of `ActionsModule`. @throws ShardingError `invalid_options` */
export function executorProviders(options: ExecutionOptions): Provider[] {
  const settings = resolveExecution(options);
  return [actionsProvider(settings), executorProvider(settings), retentionProvider(settings)];
}

function actionsProvider(limits: ActionSettings): Provider {
  return {
    provide: Actions,
    inject: [Shards, OutboxSignal, CONTROL_DATA_SOURCE],
    useFactory: (shards: Shards, outbox: OutboxSignal, control: DataSource | undefined) =>
      new Actions({
        databases: databasesOf((name) => shards.named(name), control),
        limits,
        written: (shard) => outbox.written(shard),
      }),
  };
}

function executorProvider(settings: ActionSettings): Provider {
  return {
    provide: ActionExecutor,
    inject: [ModuleRef, Shards, EntityPlaces, OutboxSignal, Actions, CONTROL_DATA_SOURCE],
    useFactory: (...[modules, shards, places, outbox, actions, control]: Needed) => {
      const databases = databasesOf((name) => shards.named(name), control);
      return new ActionExecutor({ modules, shards, places, outbox, databases, actions, settings });
    },
  };
}

function retentionProvider(days: ActionSettings): Provider {
  return {
    provide: ActionRetention,
    inject: [Shards, CONTROL_DATA_SOURCE],
    useFactory: (shards: Shards, control: DataSource | undefined) =>
      new ActionRetention({
        shards,
        databases: databasesOf((name) => shards.named(name), control),
        journal: control ? 'kept' : 'absent',
        days,
      }),
  };
}
