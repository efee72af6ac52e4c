import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { withClient } from '../../support/admin-query.js';
import { PostgresServer } from '../../support/postgres-server.js';
import * as scratch from '../../support/scratch-directory.js';
import { writeMigrations } from './own-migrations.js';

/** A server for so many targets, the control database among them, and a directory that `shardctl` finds all in. */
export interface Place {
  readonly server: PostgresServer;
  readonly cwd: string;
  /** Names of the databases, control first. */
  readonly databases: readonly string[];
}

/** Nothing works in the background while the other side is measured. */
const QUIET = { autovacuum: 'off', checkpoint_timeout: '1h', max_wal_size: '1GB', shared_buffers: '128MB' };
const MAX_CONNECTIONS = 200;

/**
 * In memory where there is room, as the databases of the tests. Whoever makes it disposes of it. The databases are made by
 * {@link freshDatabases}.
 */
export async function place(targets: number): Promise<Place> {
  const memory = await scratch.scratchInMemory();
  if (memory !== undefined) process.env[scratch.SCRATCH_VARIABLE] ||= memory;
  const cwd = await scratch.createScratchDirectory({});
  try {
    const server = await PostgresServer.start({
      name: 'bench',
      maxConnections: MAX_CONNECTIONS,
      settings: QUIET,
    });
    const shards = Array.from({ length: targets - 1 }, (_none, index) => `shard${index}`);
    const made = { server, cwd, databases: ['control', ...shards] };
    try {
      await writeMigrations(join(cwd, 'migrations'));
      await writeFile(join(cwd, 'sharding.toml'), tomlOf(server, shards));
      return made;
    } catch (error) {
      await server.dispose();
      throw error;
    }
  } catch (error) {
    await scratch.removeScratchDirectory(cwd);
    throw error;
  }
}

export async function disposePlace({ server, cwd }: Place): Promise<void> {
  try {
    await server.dispose();
  } finally {
    await scratch.removeScratchDirectory(cwd);
  }
}

function tomlOf(server: PostgresServer, shards: readonly string[]): string {
  return [
    `[database]\nprimary_url = "${server.url('control')}"`,
    ...shards.map((name) => `[[database.shards]]\nname = "${name}"\nprimary_url = "${server.url(name)}"`),
    '[migrations]\ncontrol = ["migrations/*.mjs"]\nshards = ["migrations/*.mjs"]',
  ].join('\n');
}

/** Empty databases instead of those of the round before, and nothing left to be written. */
export async function freshDatabases({ server, databases }: Place): Promise<void> {
  await withClient(server.url(), async (client) => {
    for (const name of databases.map(pg.escapeIdentifier)) {
      await client.query(`drop database if exists ${name} with (force)`);
      await client.query(`create database ${name}`);
    }
    await client.query('checkpoint');
  });
}
