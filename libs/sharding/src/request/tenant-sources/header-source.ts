import { ShardingError } from '@app/routing';
import { headerValues } from '../http-request.js';
import { invalidTenant } from '../tenant-value.js';

/** Keeps a byte order mark: without it the header would name another tenant than a job does. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The tenant named by a header. Its bytes are UTF-8, so that the same tenant in a header, a token and a job is one
 * tenant. Two values, also joined by a comma as proxies do, are refused.
 *
 * @throws ShardingError `no_routing_key` without the header, `invalid_tenant` when it is not one clear value
 */
export function tenantFromHeader(request: object, headerName: string): string {
  const values = headerValues(request, headerName);
  if (values.length === 0) {
    throw new ShardingError('no_routing_key', `the request names no tenant: send the ${headerName} header`);
  }
  const [value = ''] = values;
  if (values.length > 1 || value.includes(',')) {
    throw invalidTenant(`must be named once by the ${headerName} header, not several times`);
  }
  return decoded(value);
}

function decoded(latin1: string): string {
  if (/^[\x20-\x7e]*$/.test(latin1)) return latin1;
  try {
    return UTF8.decode(Buffer.from(latin1, 'latin1'));
  } catch {
    throw invalidTenant('must be UTF-8');
  }
}
