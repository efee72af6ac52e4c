import { keyAs } from './key-style.js';
import { jwtSettings } from './jwt-settings.js';
import type { TenancySettings, TenantSourceSettings } from '../sharding.settings.js';
import type { TenancyOptions, TenantSourceName } from '../tenancy.options.js';
import type { Report } from './jwt-settings.js';
import type { KeyStyle } from './key-style.js';

const FUNCTIONS = ['resolve', 'normalize', 'principalTenant'] as const;

/** Keys that only one source reads. Without `source` they show that another one was meant than the header. */
const OWN_KEYS: readonly (readonly [TenantSourceName, readonly (keyof TenancyOptions)[]])[] = [
  ['subdomain', ['baseDomain']],
  ['jwt', ['jwtSecret', 'jwtPublicKey', 'jwksUrl', 'jwtIssuer', 'jwtAudience', 'jwtClaim']],
];

/** Rules over several keys of `[tenancy]`; problems are pushed, and the settings are then not used. */
export function tenancySettings(
  options: TenancyOptions | undefined,
  style: KeyStyle,
  problems: string[],
): TenancySettings {
  if (!options || options.enabled === false) return { enabled: false };
  const report: Report = (key, text) => problems.push(`tenancy.${keyAs(style, key)}: ${text}`);
  for (const key of FUNCTIONS) {
    const value: unknown = options[key];
    if (style === 'code' && value !== undefined && typeof value !== 'function')
      report(key, 'must be a function');
  }
  if (options.resolve !== undefined && options.source !== 'custom') {
    report('resolve', 'goes with source "custom" only');
  }
  if (options.source === undefined) reportForeignKeys(options, style, report);
  return {
    enabled: true,
    required: options.required ?? 'on_use',
    publicPaths: Object.freeze([...(Array.isArray(options.publicPaths) ? options.publicPaths : [])]),
    maxLength: options.maxLength ?? 255,
    source: Object.freeze(sourceSettings(options, style, report)),
    ...(options.normalize && { normalize: options.normalize }),
    ...(options.principalTenant && { principalTenant: options.principalTenant }),
  };
}

function reportForeignKeys(options: TenancyOptions, style: KeyStyle, report: Report): void {
  for (const [source, keys] of OWN_KEYS) {
    const foreign = keys.find((key) => options[key] !== undefined);
    if (foreign) report(foreign, `goes with source "${source}", and no ${keyAs(style, 'source')} is set`);
  }
}

function sourceSettings(options: TenancyOptions, style: KeyStyle, report: Report): TenantSourceSettings {
  switch (options.source ?? 'header') {
    case 'subdomain': {
      const { baseDomain } = options;
      if (typeof baseDomain !== 'string') return { kind: 'subdomain' };
      return { kind: 'subdomain', baseDomain: baseDomain.toLowerCase().replace(/^\.|\.$/g, '') };
    }
    case 'jwt':
      return jwtSettings(options, style, report);
    case 'custom': {
      const { resolve } = options;
      if (resolve === undefined) report('resolve', 'source "custom" needs a function, in code');
      return { kind: 'custom', resolve: resolve ?? (() => undefined) };
    }
    default: {
      const { headerName } = options;
      return {
        kind: 'header',
        headerName: typeof headerName === 'string' ? headerName.toLowerCase() : 'x-tenant-id',
      };
    }
  }
}
