import 'reflect-metadata';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ConsoleLogger } from '@nestjs/common';
import { DemoStage, PostgresServer } from '@test/support';
import { loadShardingOptions, migrate, resolveOptions } from '@app/sharding';
import { bookmarksSharding } from './app.module.js';
import { createApp } from './create-app.js';
import { demoConfiguration } from './demo-configuration.js';
import type { ShardingOptions } from '@app/sharding';

/** The whole service on this machine: four PostgreSQL servers, migrations, HTTP. Nothing is left when it ends. */

const SERVERS = ['control', 'shard0', 'shard1'] as const;
const REPLICA = 'shard0-replica';

const HELP = `npm run demo -- [options]

  --port PORT   where the service listens (default 3000)
  --no-color    plain output
  --help        this text
`;

const flags = readFlags();
const color = !flags['no-color'] && !process.env['NO_COLOR'] && process.stdout.isTTY === true;
const stage = new DemoStage(color);
const faint = (text: string) => stage.faint(text);

function readFlags(): { port: number; 'no-color': boolean } {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '3000' },
        'no-color': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const port = Number(values.port);
    if (values.help) return finish(HELP, 0);
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new Error('--port takes a number from 0 to 65535');
    return { port, 'no-color': values['no-color'] };
  } catch (error) {
    return finish(`${(error as Error).message}\n\n${HELP}`, 2);
  }
}

function finish(text: string, code: number): never {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

let file = '';

async function start(): Promise<string> {
  await assertFree(flags.port);
  for (const name of SERVERS) {
    const server = await stage.start(name, () => PostgresServer.start({ name }));
    await server.createDatabase(databaseOf(name));
  }
  await stage.start(REPLICA, () => stage.named('shard0').replica({ name: REPLICA }));
  const sharding = await configured();
  await migrate(resolveOptions(sharding), (line) => stage.say(faint(`migrate ${line}`)));
  const logger = new ConsoleLogger({ colors: color, logLevels: ['warn', 'error', 'fatal'] });
  const app = await createApp(sharding, { logger, abortOnError: false });
  stage.atEnd(() => app.close());
  await app.listen(flags.port, '127.0.0.1');
  return (await app.getUrl()).replace('127.0.0.1', 'localhost');
}

/** From a file that shardctl reads too; it holds passwords. */
async function configured(): Promise<ShardingOptions> {
  file = join(await stage.directory(), 'sharding.toml');
  const text = demoConfiguration({
    control: urlOf('control'),
    shard0: urlOf('shard0'),
    shard1: urlOf('shard1'),
    replica: stage.named(REPLICA).url(databaseOf('shard0')),
  });
  await writeFile(file, text, { mode: 0o600 });
  return { ...loadShardingOptions({ file, environment: {} }), ...bookmarksSharding };
}

const urlOf = (name: (typeof SERVERS)[number]) => stage.named(name).url(databaseOf(name));
const databaseOf = (name: string) => `bookmarks_${name}`;

/** Told before the servers are started for nothing. */
async function assertFree(port: number): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    throw new Error(`port ${port} cannot be used; choose another one with --port`, { cause: error });
  } finally {
    probe.close();
  }
}

/** Of the administration; a deployment sets a better one. */
const ADMIN_KEY = (process.env['BOOKMARKS_ADMIN_KEY'] ??= 'demo');

function welcome(at: string): void {
  const say = (text: string) => stage.say(text);
  say(stage.strong(`ready ${at}`));
  for (const server of stage.servers) say(`${server.name} pid ${server.pid}`);
  say(
    `curl -X POST -H 'x-tenant-id: acme' -H 'content-type: application/json' -d '{"url":"https://nestjs.com","title":"Nest"}' ${at}/api/bookmarks`,
  );
  say(`curl -H 'x-tenant-id: acme' ${at}/api/bookmarks     ${faint('# acme lives on shard0')}`);
  say(`curl -H 'x-tenant-id: globex' ${at}/api/bookmarks   ${faint('# globex lives on shard1')}`);
  say(
    `curl -H 'x-api-key: ${ADMIN_KEY}' '${at}/admin/bookmarks?take=5'   ${faint('# all tenants, in one order')}`,
  );
  say(`control url ${urlOf('control')}   ${faint('# for SQL: pins, see the README')}`);
  say(`shardctl: --config ${file}   ${faint('# ping, route, doctor ...')}`);
  say(
    faint(
      `try it: kill -9 ${stage.named('shard1').pid} (shard1), then curl ${at}/api/stats and ${at}/health`,
    ),
  );
  say(
    faint(
      `or: kill -9 ${stage.named(REPLICA).pid} (the replica of shard0): acme is read from the primary, ${at}/health stays up and tells`,
    ),
  );
  say(faint(`servers that were stopped start again with: kill -USR2 ${process.pid}`));
}

process.on(
  'SIGUSR2',
  () => void stage.startAgain().catch((error: unknown) => stage.say((error as Error).message)),
);

await stage.run(async () => welcome(await start()));
