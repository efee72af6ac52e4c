import { Injectable } from '@nestjs/common';
import { ShardingError } from '@app/routing';

const SAGA = Symbol.for('nestjs-sharding.saga');

/**
 * Names a saga for ever: the name is stored with each run of it. The class extends `SagaSteps` and is a provider of any
 * module.
 *
 * @example \@Saga('transfer') export class TransferSaga extends SagaSteps<Transfer> { ... }
 */
export function Saga(name: string): ClassDecorator {
  return (target) => {
    Injectable()(target);
    Object.defineProperty(target, SAGA, { value: name });
  };
}

/** Undefined for a class without `@Saga`. */
export function sagaNameOf(target: unknown): string | undefined {
  if (typeof target !== 'function' || !Object.hasOwn(target, SAGA)) return undefined;
  return (target as { readonly [SAGA]?: string })[SAGA];
}

/** @throws ShardingError `invalid_options` for a class without `@Saga` */
export function requiredSagaName(target: { readonly name: string }): string {
  const name = sagaNameOf(target);
  if (name) return name;
  throw new ShardingError('invalid_options', `${target.name} is no saga: decorate it with @Saga('...')`);
}
