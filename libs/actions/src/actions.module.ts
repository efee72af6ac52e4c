import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ActionExecutor } from './executor/action-executor.js';
import { executorProviders } from './executor/executor.providers.js';
import { Actions } from './operator/actions.js';
import { OutboxSignal } from './outbox/outbox-signal.js';
import { outboxProviders } from './outbox/outbox.providers.js';
import { Subscribers } from './outbox/subscribers.js';
import { sagaProviders } from './saga/saga.providers.js';
import { Sagas } from './saga/sagas.js';
import type { DynamicModule } from '@nestjs/common';
import type { ActionsOptions } from './actions.options.js';

/** Actions and events. Global, and imported once an application, beside `ShardingModule`. */
@Module({})
export class ActionsModule {
  /** @throws ShardingError `invalid_options` */
  static forRoot(options: ActionsOptions = {}): DynamicModule {
    return {
      module: ActionsModule,
      global: true,
      imports: [DiscoveryModule],
      providers: [...outboxProviders(options.outbox), ...executorProviders(options), ...sagaProviders()],
      exports: [ActionExecutor, Actions, OutboxSignal, Sagas, Subscribers],
    };
  }
}
