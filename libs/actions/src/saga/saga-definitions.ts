import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ShardingError } from '@app/routing';
import { requiredSagaName, sagaNameOf } from './saga.decorator.js';
import { SagaSteps, stepsOf } from './saga-steps.js';
import type { OnModuleInit, Type } from '@nestjs/common';

/** A saga, and the name that it is stored under. */
export interface SagaDefinition {
  readonly name: string;
  readonly saga: SagaSteps<object>;
}

/** The sagas of the application: its providers with `@Saga`. */
@Injectable()
export class SagaDefinitions implements OnModuleInit {
  readonly #byName = new Map<string, SagaDefinition>();

  constructor(@Inject(DiscoveryService) private readonly discovery: DiscoveryService) {}

  /** @throws ShardingError `invalid_options` for two of one name, and for steps that cannot be told apart */
  onModuleInit(): void {
    for (const { metatype, instance } of this.discovery.getProviders()) {
      const name = sagaNameOf(metatype);
      if (name === undefined || this.#byName.get(name)?.saga === instance) continue;
      if (!(instance instanceof SagaSteps) || this.#byName.has(name)) {
        throw new ShardingError(
          'invalid_options',
          `the saga "${name}" must be one class that extends SagaSteps, and is no request-scoped provider`,
        );
      }
      stepsOf(instance);
      this.#byName.set(name, { name, saga: instance });
    }
  }

  /** True where there is any. */
  get exist(): boolean {
    return this.#byName.size > 0;
  }

  /** @throws ShardingError `invalid_options` for a class that is no provider */
  of(target: Type<SagaSteps<never>>): SagaDefinition {
    const name = requiredSagaName(target);
    const found = this.#byName.get(name);
    if (found) return found;
    throw new ShardingError(
      'invalid_options',
      `${target.name} is not provided: add it to the providers of a module`,
    );
  }

  /** Undefined for a saga that this version of the application does not have. */
  named(name: string): SagaDefinition | undefined {
    return this.#byName.get(name);
  }
}
