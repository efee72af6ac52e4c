import type { Verdict } from '../finding.js';
import type { Way } from '../../place.js';

/** Why something failed, made safe to print. */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** A way that does not answer. */
export function unreachable({ place, name }: Way, { code, message }: Failure, limitMs: number): Verdict {
  const way = name === 'url' ? '' : ' by its maintenance_url';
  const why = code === 'timeout' ? `no answer within ${limitMs} ms` : message;
  return {
    severity: 'error',
    target: place.label,
    reason: `cannot be reached${way}: ${why} (${code})`,
    remedy: `see that the server runs and that this URL leads to it; nothing else of it was looked at${name === 'url' ? '' : ' this way'}`,
  };
}
