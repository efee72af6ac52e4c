import 'reflect-metadata';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { ConsoleLogger } from '@nestjs/common';
import { PostgresServer, createScratchDirectory, removeScratchDirectory } from '@test/support';
import { loadShardingOptions, migrate, resolveOptions } from '@app/sharding';
import { bookmarksSharding } from './app.module.js';
import { createApp } from './create-app.js';
import { demoConfiguration } from './demo-configuration.js';
import type { INestApplication } from '@nestjs/common';
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
const say = (text: string) => process.stdout.write(`${text}\n`);
const strong = (text: string) => (color ? styleText(['bold', 'green'], text) : text);
const faint = (text: string) => (color ? styleText('gray', text) : text);

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

const servers: PostgresServer[] = [];
let app: INestApplication | undefined;
let ending: Promise<void> | undefined;
let scratch: string | undefined;
let file = '';

async function start(): Promise<void> {
  await assertFree(flags.port);
  for (const name of SERVERS) {
    const server = await started(name, () => PostgresServer.start({ name }));
    await server.createDatabase(databaseOf(name));
  }
  const shard0 = named('shard0');
  await started(REPLICA, () => shard0.replica({ name: REPLICA }));
  const sharding = await configured();
  await migrate(resolveOptions(sharding), (line) => say(faint(`migrate ${line}`)));
  const logger = new ConsoleLogger({ colors: color, logLevels: ['warn', 'error', 'fatal'] });
  app = await createApp(sharding, { logger, abortOnError: false });
  await app.listen(flags.port, '127.0.0.1');
}

/** From a file that shardctl reads too; it holds passwords. */
async function configured(): Promise<ShardingOptions> {
  scratch = await createScratchDirectory({});
  file = join(scratch, 'sharding.toml');
  const text = demoConfiguration({
    control: urlOf('control'),
    shard0: urlOf('shard0'),
    shard1: urlOf('shard1'),
    replica: named(REPLICA).url(databaseOf('shard0')),
  });
  await writeFile(file, text, { mode: 0o600 });
  return { ...loadShardingOptions({ file, environment: {} }), ...bookmarksSharding };
}

const urlOf = (name: (typeof SERVERS)[number]) => named(name).url(databaseOf(name));

async function started(name: string, start: () => Promise<PostgresServer>): Promise<PostgresServer> {
  const began = performance.now();
  const server = await start();
  servers.push(server);
  say(faint(`started ${name} on port ${server.port} in ${Math.round(performance.now() - began)} ms`));
  return server;
}

const databaseOf = (name: string) => `bookmarks_${name}`;

function named(name: string): PostgresServer {
  const server = servers.find((candidate) => candidate.name === name);
  if (!server) throw new Error(`${name} was not started`);
  return server;
}

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
  say(strong(`ready ${at}`));
  for (const server of servers) say(`${server.name} pid ${server.pid}`);
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
  say(faint(`try it: kill -9 ${named('shard1').pid} (shard1), then curl ${at}/api/stats and ${at}/health`));
  say(
    faint(
      `or: kill -9 ${named(REPLICA).pid} (the replica of shard0): acme is read from the primary, ${at}/health stays up and tells`,
    ),
  );
  say(faint(`servers that were stopped start again with: kill -USR2 ${process.pid}`));
}

/** Closes in reverse order; a failure is told and stops nothing. */
function end(code: number): Promise<void> {
  return (ending ??= (async () => {
    say('stopping');
    const steps = [
      () => app?.close(),
      ...servers.toReversed().map((server) => () => server.dispose()),
      () => scratch && removeScratchDirectory(scratch),
    ];
    for (const step of steps) {
      await Promise.resolve(step()).catch((error: unknown) =>
        say(`while stopping: ${(error as Error).message}`),
      );
    }
    process.exit(code);
  })());
}

async function startAgain(): Promise<void> {
  for (const server of servers) {
    if (server.isRunning) {
      say(faint(`${server.name} is running`));
      continue;
    }
    await server.restart();
    say(`${server.name} pid ${server.pid}`);
  }
}

/** The second signal does not wait for requests; what is left then is cleaned up by the servers' own watch. */
function onSignal(): void {
  if (ending) process.exit(130);
  void end(0);
}

process.on('SIGINT', onSignal);
process.on('SIGTERM', onSignal);
process.stdout.on('error', () => void end(0)); // the reader has gone
process.on('SIGUSR2', () => void startAgain().catch((error: unknown) => say((error as Error).message)));

try {
  await start();
  welcome((await app?.getUrl())?.replace('127.0.0.1', 'localhost') ?? '');
} catch (error) {
  if (!ending) say(`the demo could not start: ${(error as Error).message}`);
  await end(1);
}
