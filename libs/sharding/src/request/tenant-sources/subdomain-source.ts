import { isIP } from 'node:net';
import { ShardingError } from '@app/routing';
import { headerValues } from '../http-request.js';
import { invalidTenant } from '../tenant-value.js';

/**
 * The tenant named by the first label of the host: `acme` of `acme.example.com`. With `baseDomain` the host must lie
 * below it; without, it needs three labels, or two when the second is `localhost`. Host names are lower-cased; a name
 * with other characters than `a-z`, `0-9`, `-` and `_` in a label is refused.
 *
 * Behind a proxy the framework's own setting (Express: `trust proxy`) decides which host counts.
 *
 * @throws ShardingError `no_routing_key` for a host without a tenant, `invalid_tenant` for an address or a malformed host
 */
export function tenantFromSubdomain(request: object, baseDomain: string | undefined): string {
  const host = hostOf(request);
  if (isAddress(host)) throw invalidTenant('cannot be read from an IP address as host');
  if (!/^([\w-]+(\.[\w-]+)*)?$/.test(host)) throw invalidTenant('cannot be read from a malformed host');
  const prefix = baseDomain === undefined ? unanchoredPrefix(host) : prefixBelow(host, baseDomain);
  const [tenant = ''] = prefix.split('.');
  if (tenant === '') {
    throw new ShardingError(
      'no_routing_key',
      'the host of the request names no tenant: call <tenant>.<domain>',
    );
  }
  return tenant;
}

function hostOf(request: object): string {
  if (headerValues(request, 'host').length > 1) throw invalidTenant('must be named by one Host header');
  const { hostname } = request as { hostname?: unknown }; // of the framework, which knows about its proxies
  const host = typeof hostname === 'string' ? hostname : (headerValues(request, 'host')[0] ?? '');
  return host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
}

/** Also the short forms (`127.1`): no top-level domain is a number. */
function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0 || /(^|\.)\d+$/.test(host);
}

function prefixBelow(host: string, baseDomain: string): string {
  return host.endsWith(`.${baseDomain}`) ? host.slice(0, -baseDomain.length - 1) : '';
}

function unanchoredPrefix(host: string): string {
  const labels = host.split('.');
  const enough = labels.length > 2 || (labels.length === 2 && labels[1] === 'localhost');
  return enough ? host : '';
}
