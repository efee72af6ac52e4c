/** A component of health beside the databases. */
export interface HealthComponent {
  readonly key: string;
  /** At once, without asking anybody. No tenant, host or secret in the details. */
  check(): { readonly up: boolean; readonly details: Record<string, unknown> };
}

/** Those of now: what has one may be made after the health module. */
export type HealthComponents = () => readonly HealthComponent[];

/** Token of the {@link HealthComponents}. */
export const HEALTH_COMPONENTS = Symbol.for('nestjs-sharding.health-components');
