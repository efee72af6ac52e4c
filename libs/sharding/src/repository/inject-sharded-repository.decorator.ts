import { Inject } from '@nestjs/common';
import type { ObjectLiteral } from 'typeorm';
import type { EntityClass } from './sharded-entity.js';

const TOKEN = Symbol.for('nestjs-sharding.repository-token');

/** The token of an entity's repository; the same for the class wherever it is asked for. */
export function shardedRepositoryToken(entity: EntityClass): symbol {
  const holder = entity as EntityClass & { [TOKEN]?: symbol };
  if (!Object.hasOwn(holder, TOKEN)) {
    Object.defineProperty(holder, TOKEN, { value: Symbol(`ShardedRepository<${entity.name}>`) });
  }
  return holder[TOKEN] as symbol;
}

/** Injects the `ShardedRepository` of an entity; `ShardingModule.forFeature([Entity])` provides it. A singleton. */
export const InjectShardedRepository = <E extends ObjectLiteral>(
  entity: EntityClass<E>,
): PropertyDecorator & ParameterDecorator => Inject(shardedRepositoryToken(entity));
