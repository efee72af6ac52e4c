import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { configurationError } from './configuration-error.js';
import { environmentOverlay } from './environment.js';
import { camelCase, snakeCase } from './key-style.js';
import { isRecord } from './option-problems.js';
import { didYouMean, SECTIONS } from './option-schema.js';
import { layOver } from './overlay.js';
import { optionProblems } from './resolve-options.js';
import type { ShardingOptions } from '../sharding.options.js';
import type { Environment } from './environment.js';

export interface LoadOptions {
  /** Default: `SHARDING_CONFIG`, else `sharding.toml` in the working directory. */
  readonly file?: string;
  /** Default: `SHARDING_PROFILE`. */
  readonly profile?: string;
  /** Default: `process.env`. */
  readonly environment?: Environment;
}

/**
 * Reads `sharding.toml`, then `[profile.NAME]` in it, then `sharding.NAME.toml` beside it, then the environment; each
 * over the ones before. Checks names only; `resolveOptions()` checks the rest.
 *
 * @throws ShardingError `invalid_topology` listing everything that cannot be read, and then also what is wrong with the
 *   rest
 */
export function loadShardingOptions(load: LoadOptions = {}): ShardingOptions {
  const environment = load.environment ?? process.env;
  const named = load.file ?? given(environment['SHARDING_CONFIG']);
  const profile = load.profile ?? given(environment['SHARDING_PROFILE']);
  const file = resolve(named ?? 'sharding.toml');
  const found = existsSync(file);
  if (named !== undefined && !found) {
    throw configurationError([`the configuration file ${named} does not exist`]);
  }
  const unreadable: string[] = [];
  const { profile: profiles, ...base } = found ? readToml(file, unreadable) : {};
  const problems: string[] = [];
  const layers = [base, ...profileLayers({ profile, profiles, file, unreadable, problems })];
  if (unreadable.length > 0) throw configurationError([...unreadable, ...problems]);
  const overlay = environmentOverlay(layers.reduce(layOver, {}), environment);
  problems.push(...layers.flatMap(unknownSections), ...overlay.problems);
  if (!found && named === undefined && Object.keys(overlay.options).length === 0) {
    throw configurationError([
      'there is no sharding.toml in the working directory, and no SHARDING_ variable is set',
      ...problems,
    ]);
  }
  if (problems.length > 0) throw configurationError([...problems, ...restProblems(overlay.options)]);
  return { ...overlay.options, ...(profile !== undefined && { profile }) };
}

/** A variable that is set to nothing is not set. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function unknownSections(layer: Record<string, unknown>): string[] {
  const known = [...SECTIONS.keys()];
  return Object.keys(layer)
    .filter((key) => !known.includes(key))
    .map((key) => `${snakeCase(key)}: unknown section${didYouMean(snakeCase(key), [...known, 'profile'])}`);
}

/** What `resolveOptions()` would say next. The function of a `custom` source may still come from code. */
function restProblems(options: Record<string, unknown>): string[] {
  const { database, migrations, tenancy } = options;
  const custom = isRecord(tenancy) && tenancy['source'] === 'custom';
  const rest = {
    ...(database !== undefined && { database }),
    ...(migrations !== undefined && { migrations }),
    ...(tenancy !== undefined && {
      tenancy: custom ? { ...tenancy, resolve: () => undefined } : tenancy,
    }),
  };
  return optionProblems(rest as ShardingOptions, 'toml');
}

function profileLayers(at: {
  profile: string | undefined;
  profiles: unknown;
  file: string;
  unreadable: string[];
  problems: string[];
}): Record<string, unknown>[] {
  const { profile, profiles, file } = at;
  if (profiles !== undefined && !isRecord(profiles)) at.problems.push('profile: must be a table of profiles');
  if (profile === undefined) return [];
  if (!/^[\w-]+$/.test(profile)) {
    at.problems.push('the profile must match [A-Za-z0-9_-]');
    return [];
  }
  const sections = new Map(isRecord(profiles) ? Object.entries(profiles) : []);
  const section = sections.get(camelCase(profile));
  const beside = join(dirname(file), `sharding.${profile}.toml`);
  const layers: Record<string, unknown>[] = [];
  if (isRecord(section)) layers.push(section);
  else if (section !== undefined) at.problems.push(`profile.${profile}: must be a table of sections`);
  if (existsSync(beside)) layers.push(readToml(beside, at.unreadable));
  const names = [...sections.keys()].map(snakeCase);
  if (layers.length === 0 && section === undefined && names.length > 0) {
    const hint = didYouMean(profile, names) || `; there are: ${names.join(', ')}`;
    at.problems.push(`there is no profile "${profile}"${hint}`);
  }
  return layers;
}

function readToml(file: string, unreadable: string[]): Record<string, unknown> {
  try {
    return camelKeys(parse(readFileSync(file, 'utf8'))) as Record<string, unknown>;
  } catch (error) {
    const where = error instanceof TomlError ? ` (line ${error.line}, column ${error.column})` : '';
    unreadable.push(`${file} cannot be read${where}`); // without the text: it may hold a password
    return {};
  }
}

function camelKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelKeys);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [camelCase(key), camelKeys(below)]));
}
