import { Inject } from '@nestjs/common';

/** Token of the control `DataSource`. `Symbol.for`: the library may be loaded twice. */
export const CONTROL_DATA_SOURCE = Symbol.for('nestjs-sharding.control-data-source');

/**
 * Injects the control database's `DataSource`. It exists from boot and opens at its first statement. Sharded entities
 * are not registered there; without a control database the boot fails and says what to set.
 */
export const InjectControl = (): PropertyDecorator & ParameterDecorator => Inject(CONTROL_DATA_SOURCE);
