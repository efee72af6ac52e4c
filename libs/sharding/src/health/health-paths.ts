/** What `ShardingModule.forRoot(options, { health })` accepts; the routes exist before the options are known. */
export interface HealthOptions {
  /** Readiness: 200, or 503 when a database is down. Default `health`, `ready` and `actuator/health`. */
  readonly readinessPaths?: readonly string[];
  /** Liveness, without any database. Default `health/live`. */
  readonly livenessPaths?: readonly string[];
  /** Bound of the probe of one database. Default 700. */
  readonly timeoutMs?: number;
}

export interface HealthPaths {
  readonly readiness: readonly string[];
  readonly liveness: readonly string[];
}

export const DEFAULT_PROBE_TIMEOUT_MS = 700;

export function healthPaths(options: HealthOptions = {}): HealthPaths {
  return {
    readiness: options.readinessPaths ?? ['health', 'ready', 'actuator/health'],
    liveness: options.livenessPaths ?? ['health/live'],
  };
}
