import type { ShardingError } from '@app/routing';
import type { Finding } from '../finding.js';

/** What a configuration that cannot be resolved has to say: one finding for each of its problems. */
export function configurationFindings(error: ShardingError): Finding[] {
  const [heading = '', ...problems] = error.message.split('\n  - ');
  return (problems.length === 0 ? [heading] : problems).map((reason) => ({
    check: 'configuration',
    severity: 'error',
    target: 'configuration',
    reason,
    remedy: 'correct the file, its profile, or the environment; no database was asked',
  }));
}
