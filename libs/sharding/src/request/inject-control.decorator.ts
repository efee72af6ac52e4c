import { Inject } from '@nestjs/common';

/** Token of the control `DataSource`. `Symbol.for`: the library may be loaded twice. */
export const CONTROL_DATA_SOURCE = Symbol.for('nestjs-sharding.control-data-source');

/** Token of the control database's `Reader`. */
export const CONTROL_READER = Symbol.for('nestjs-sharding.control-reader');

/**
 * Injects the control database's `DataSource`, or with `'reader'` the `Reader` that uses its replica by the same rules
 * as those of a shard. It exists from boot and opens at its first statement. Sharded entities are not registered there;
 * without a control database the boot fails and says what to set.
 */
export const InjectControl = (
  use: 'primary' | 'reader' = 'primary',
): PropertyDecorator & ParameterDecorator => Inject(use === 'reader' ? CONTROL_READER : CONTROL_DATA_SOURCE);
