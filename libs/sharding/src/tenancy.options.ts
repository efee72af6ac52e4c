import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  Min,
} from './validators.js';
import type { CustomTenantSource, PrincipalTenant } from './sharding.settings.js';

/** Where the tenant of a request is read from. */
export const TENANT_SOURCES = ['header', 'subdomain', 'jwt', 'custom'] as const;
export type TenantSourceName = (typeof TENANT_SOURCES)[number];

/** When a missing tenant is an error: at the first routed use, or for every path that is not public. */
export const TENANT_REQUIREMENTS = ['on_use', 'always'] as const;
export type TenantRequirement = (typeof TENANT_REQUIREMENTS)[number];

/** `[tenancy]`: who a request belongs to. */
export class TenancyOptions {
  /** Default true when the section exists. */
  @IsOptional()
  @IsBoolean()
  enabled?: boolean;

  /** Default `header`. */
  @IsOptional()
  @IsIn(TENANT_SOURCES)
  source?: TenantSourceName;

  /** Default `on_use`. */
  @IsOptional()
  @IsIn(TENANT_REQUIREMENTS)
  required?: TenantRequirement;

  /** Default `x-tenant-id`. */
  @IsOptional()
  @Matches(/^[a-z0-9-]+$/i, { message: 'must be a header name' })
  headerName?: string;

  /** The tenant is the label before it: `acme.example.com` with `example.com`. */
  @IsOptional()
  @Matches(/^\.?[a-z0-9-]+(\.[a-z0-9-]+)*\.?$/i, { message: 'must be a domain name, such as example.com' })
  baseDomain?: string;

  /** HS256, HS384 or HS512; at least 32 characters. */
  @IsOptional()
  @IsString()
  jwtSecret?: string;

  /** PEM (SPKI) of an RSA, EC or Ed25519 key. */
  @IsOptional()
  @IsString()
  jwtPublicKey?: string;

  @IsOptional()
  @IsUrl(
    { protocols: ['http', 'https'], require_protocol: true, require_tld: false, disallow_auth: true },
    { message: 'must be an http(s) URL without a user or a password' },
  )
  @IsString()
  jwksUrl?: string;

  @IsOptional()
  @IsNotEmpty()
  @IsString()
  jwtIssuer?: string;

  @IsOptional()
  @IsNotEmpty()
  @IsString()
  jwtAudience?: string;

  /** Default `tenant_id`. */
  @IsOptional()
  @IsNotEmpty()
  @IsString()
  jwtClaim?: string;

  /** Path prefixes (at slash boundaries) that need no tenant when `required` is `always`. */
  @IsOptional()
  @IsString({ each: true })
  @IsArray()
  publicPaths?: string[];

  /** Longest tenant in UTF-8 bytes. Default 255. */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(2000)
  maxLength?: number;

  /** In code only: the source `custom`. */
  @IsOptional()
  resolve?: CustomTenantSource;

  /** In code only: applied to each tenant after the checks, for example to fold case. */
  @IsOptional()
  normalize?: (tenant: string) => string;

  /** In code only: the tenant of the authenticated principal; must agree with the request's. */
  @IsOptional()
  principalTenant?: PrincipalTenant;
}
