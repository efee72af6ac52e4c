import { pathToFileURL } from 'node:url';
import { glob } from 'tinyglobby';
import { ShardingError } from '@app/routing';
import { failureMessage } from './failure-message.js';
import type { MigrationInterface } from 'typeorm';
import type { MigrationList, MigrationType } from '../typeorm.options.js';

/** A migration of the application under the name that is recorded. */
export interface NamedMigration {
  readonly name: string;
  /** The last 13 digits of the name: its place in the order. */
  readonly timestamp: number;
  readonly migration: MigrationInterface;
}

/**
 * The migrations of one list in their order.
 *
 * @param key where the list is configured, for messages
 * @throws ShardingError `invalid_options` listing the globs without a migration, names without a timestamp, and names
 * that are there twice
 */
export async function loadMigrations(list: MigrationList, key: string): Promise<NamedMigration[]> {
  const problems: string[] = [];
  const loaded = await Promise.all(
    list.map(async (entry) => (typeof entry === 'string' ? fromFiles(entry, problems) : [entry])),
  );
  const named = [...new Set(loaded.flat())].map(nameOf).toSorted((a, b) => a.timestamp - b.timestamp);
  const unordered = named.filter(({ timestamp }) => Number.isNaN(timestamp));
  problems.push(
    ...unordered.map(({ name }) => `${name}: the name must end with a timestamp of 13 digits`),
    ...repeated(named.map(({ name }) => name)).map((name) => `${name}: is there twice`),
  );
  if (problems.length > 0) throw new ShardingError('invalid_options', `${key}: ${problems.join('; ')}`);
  return named;
}

const SOURCE = /\.[cm]?[jt]s$/;
const DECLARATION = /\.d\.[cm]?ts$/;

async function fromFiles(pattern: string, problems: string[]): Promise<MigrationType[]> {
  const found = await glob(pattern, { absolute: true, expandDirectories: false });
  const files = found.filter((file) => SOURCE.test(file) && !DECLARATION.test(file)).toSorted();
  const modules = await Promise.all(files.map((file) => importFile(file, pattern)));
  const types = modules.flatMap((exported) => Object.values(exported)).filter(isMigrationType);
  if (types.length === 0) {
    const what = files.length === 0 ? 'no file matches' : 'no file exports a migration';
    problems.push(`${pattern}: ${what}, seen from the working directory`);
  }
  return types;
}

async function importFile(file: string, pattern: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    const problem = `a file of "${pattern}" cannot be loaded: ${failureMessage(cause)}`;
    throw new ShardingError('invalid_options', problem, { cause });
  }
}

function isMigrationType(value: unknown): value is MigrationType {
  if (typeof value !== 'function') return false;
  const { prototype } = value as { prototype?: Partial<MigrationInterface> };
  return typeof prototype?.up === 'function' || /\d{13}$/.test(value.name);
}

/** As TypeORM names them. */
function nameOf(type: MigrationType): NamedMigration {
  const migration = new type();
  const name = migration.name ?? type.name;
  const digits = /\d{13}$/.exec(name)?.[0];
  return { name, timestamp: digits === undefined ? Number.NaN : Number(digits), migration };
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
}
