import { isIP } from 'node:net';
import { ShardingError } from '@app/routing';
import { headerValues } from '../http-request.js';
import { invalidTenant } from '../tenant-value.js';

/**
 * The tenant named by the first label of the host: `acme` of `acme.example.com`. With `baseDomain` the host must lie
 * below it; without, it needs three labels, or two when the second is `localhost`. Host names are lower-cased.
 *
 * Behind a proxy the framework's own setting (Express: `trust proxy`) decides which host counts.
 *
 * @throws ShardingError `no_routing_key` for a host without a tenant, `invalid_tenant` for an address
 */
export function tenantFromSubdomain(request: object, baseDomain: string | undefined): string {
  const host = hostOf(request);
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0)
    throw invalidTenant('cannot be read from an IP address as host');
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
  const { hostname } = request as { hostname?: unknown };
  const host = typeof hostname === 'string' ? hostname : (headerValues(request, 'host')[0] ?? '');
  return host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
}

function prefixBelow(host: string, baseDomain: string): string {
  return host.endsWith(`.${baseDomain}`) ? host.slice(0, -baseDomain.length - 1) : '';
}

function unanchoredPrefix(host: string): string {
  const labels = host.split('.');
  const enough = labels.length > 2 || (labels.length === 2 && labels[1] === 'localhost');
  return enough ? host : '';
}
