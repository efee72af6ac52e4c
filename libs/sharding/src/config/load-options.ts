import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { ShardingError } from '@app/routing';
import { environmentOverlay } from './environment.js';
import { camelCase, snakeCase } from './key-style.js';
import { isRecord } from './option-problems.js';
import { didYouMean, SECTIONS } from './option-schema.js';
import { layOver } from './overlay.js';
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
 * @throws ShardingError `invalid_topology` listing everything that cannot be read
 */
export function loadShardingOptions(load: LoadOptions = {}): ShardingOptions {
  const environment = load.environment ?? process.env;
  const named = load.file ?? environment['SHARDING_CONFIG'];
  const profile = load.profile ?? environment['SHARDING_PROFILE'];
  const file = resolve(named ?? 'sharding.toml');
  const problems: string[] = [];
  const found = existsSync(file);
  if (named !== undefined && !found) problems.push(`the configuration file ${named} does not exist`);
  const { profile: profiles, ...base } = found ? readToml(file, problems) : {};
  problems.push(...unknownSections(base));
  const layers = [base, ...profileLayers({ profile, profiles, file, problems })];
  const laid = layers.reduce((below, layer) => layOver(below, layer), {});
  const overlay = environmentOverlay(laid, environment);
  problems.push(...overlay.problems);
  if (!found && named === undefined && Object.keys(overlay.options).length === 0) {
    problems.push('there is no sharding.toml in the working directory, and no SHARDING_ variable is set');
  }
  if (problems.length > 0) throw configurationError(problems);
  return overlay.options as ShardingOptions;
}

/** One error for all mistakes of a configuration. */
export function configurationError(problems: readonly string[]): ShardingError {
  return new ShardingError(
    'invalid_topology',
    ['the sharding configuration has problems:', ...problems].join('\n  - '),
  );
}

function unknownSections(base: Record<string, unknown>): string[] {
  const known = Object.keys(SECTIONS);
  return Object.keys(base)
    .filter((key) => !known.includes(key))
    .map((key) => `${snakeCase(key)}: unknown section${didYouMean(snakeCase(key), [...known, 'profile'])}`);
}

function profileLayers(at: {
  profile: string | undefined;
  profiles: unknown;
  file: string;
  problems: string[];
}): Record<string, unknown>[] {
  if (at.profile === undefined || at.profile === '') return [];
  if (!/^[\w-]+$/.test(at.profile)) {
    at.problems.push('the profile must match [A-Za-z0-9_-]');
    return [];
  }
  const sections = isRecord(at.profiles) ? at.profiles : {};
  const section = sections[camelCase(at.profile)];
  const beside = join(dirname(at.file), `sharding.${at.profile}.toml`);
  const layers: Record<string, unknown>[] = [];
  if (isRecord(section)) layers.push(section);
  if (existsSync(beside)) layers.push(readToml(beside, at.problems));
  const hint = layers.length === 0 ? didYouMean(at.profile, Object.keys(sections)) : '';
  if (hint !== '') at.problems.push(`there is no profile "${at.profile}"${hint}`);
  return layers;
}

function readToml(file: string, problems: string[]): Record<string, unknown> {
  try {
    return camelKeys(parse(readFileSync(file, 'utf8'))) as Record<string, unknown>;
  } catch (error) {
    const where = error instanceof TomlError ? ` (line ${error.line}, column ${error.column})` : '';
    problems.push(`${file} cannot be read${where}`); // without the text: it may hold a password
    return {};
  }
}

function camelKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelKeys);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [camelCase(key), camelKeys(below)]));
}
