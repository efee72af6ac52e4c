import { Inject } from '@nestjs/common';

/**
 * Token of the control `DataSource`, for `app.get(CONTROL_DATA_SOURCE)` and `overrideProvider`; undefined without a control
 * database. Classes use {@link InjectControl}. `Symbol.for`: the library may be loaded twice.
 */
export const CONTROL_DATA_SOURCE = Symbol.for('nestjs-sharding.control-data-source');

/** Token of the control database's `Reader`, likewise. */
export const CONTROL_READER = Symbol.for('nestjs-sharding.control-reader');

/** What {@link InjectControl} injects: the same, or the boot fails. */
export const INJECTED_DATA_SOURCE = Symbol.for('nestjs-sharding.injected-data-source');
export const INJECTED_READER = Symbol.for('nestjs-sharding.injected-reader');

/**
 * Injects the control database's `DataSource`, or with `'reader'` the `Reader` that uses its replica by the same rules
 * as those of a shard. It exists from boot and opens at its first statement. Sharded entities are not registered there;
 * without a control database the boot fails and says what to set.
 */
export const InjectControl = (
  use: 'primary' | 'reader' = 'primary',
): PropertyDecorator & ParameterDecorator =>
  Inject(use === 'reader' ? INJECTED_READER : INJECTED_DATA_SOURCE);
