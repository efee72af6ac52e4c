/** A component of health beside the databases; what has one registers it with {@link HEALTH_COMPONENTS}. */
export interface HealthComponent {
  readonly key: string;
  /** At once, without asking anybody. No tenant, host or secret in the details. */
  check(): { readonly up: boolean; readonly details: Record<string, unknown> };
}

/** Token of all {@link HealthComponent}s. */
export const HEALTH_COMPONENTS = Symbol.for('nestjs-sharding.health-components');
