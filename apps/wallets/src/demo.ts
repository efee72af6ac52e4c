import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ConsoleLogger } from '@nestjs/common';
import { DemoStage, PostgresServer, seededRandom, waitFor } from '@test/support';
import { ActionExecutor } from '@app/actions';
import { ShardedUuid } from '@app/routing';
import { loadShardingOptions, migrate, resolveOptions } from '@app/sharding';
import { Deposit } from './actions/deposit.action.js';
import { OpenWallet } from './actions/open-wallet.action.js';
import { COUNTRIES, Countries } from './countries.js';
import { createApp } from './create-app.js';
import { DEMO_DATABASES, demoConfiguration, type DemoDatabase } from './demo-configuration.js';
import { transferLoad } from './load.js';
import { Totals } from './totals.js';
import { Transfers } from './transfers.js';
import { Wallet } from './wallet.entity.js';
import type { INestApplication } from '@nestjs/common';

/**
 * The whole service on this machine: four PostgreSQL servers, wallets of two groups, transfers between them while a shard is
 * killed and started again. The total of all money never changes. Nothing is left when it ends.
 */

const HELP = `npm run demo:wallets -- [options]

  --transfers N   how many transfers are sent (default 600)
  --port PORT     stay afterwards, and serve HTTP there
  --seed N        of the random transfers (default: a new one, which is printed)
  --no-color      plain output
  --help          this text
`;

const flags = readFlags();
const color = !flags.plain && !process.env['NO_COLOR'] && process.stdout.isTTY === true;
const stage = new DemoStage(color);
const WALLETS = 30;
/** Cents on each wallet at the beginning. */
const OPENING = 10_000;
const SETTLED_MS = 60_000;
const KILLED = 'mx-0';

function readFlags() {
  try {
    const { values } = parseArgs({
      options: {
        transfers: { type: 'string', default: '600' },
        port: { type: 'string' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        'no-color': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return finish(HELP, 0);
    const number = (name: string, text: string, most: number) => {
      const value = Number(text);
      if (!Number.isInteger(value) || value < 0 || value > most) {
        throw new Error(`--${name} takes a whole number from 0 to ${most}`);
      }
      return value;
    };
    return {
      transfers: number('transfers', values.transfers, 100_000),
      port: values.port === undefined ? undefined : number('port', values.port, 65_535),
      seed: number('seed', values.seed, 2 ** 31),
      plain: values['no-color'],
    };
  } catch (error) {
    return finish(`${(error as Error).message}\n\n${HELP}`, 2);
  }
}

function finish(text: string, code: number): never {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

const databaseOf = (name: DemoDatabase) => `wallets_${name.replace('-', '_')}`;
let file = '';

async function start(): Promise<INestApplication> {
  for (const name of DEMO_DATABASES) {
    const server = await stage.start(name, () => PostgresServer.start({ name }));
    await server.createDatabase(databaseOf(name));
  }
  file = join(await stage.directory(), 'sharding.toml');
  await writeFile(
    file,
    demoConfiguration((name) => stage.named(name).url(databaseOf(name))),
    { mode: 0o600 },
  );
  const sharding = loadShardingOptions({ file, environment: {} });
  await migrate(resolveOptions(sharding, 'toml'), (line) => stage.say(stage.faint(`migrate ${line}`)));
  const logger = new ConsoleLogger({ colors: color, logLevels: ['error', 'fatal'] });
  const app = await createApp({ sharding, logger, abortOnError: false });
  stage.atEnd(() => app.close());
  await app.init();
  return app;
}

async function openWallets(app: INestApplication): Promise<Wallet[]> {
  const actions = app.get(ActionExecutor);
  const countries = new Countries();
  const wallets: Wallet[] = [];
  for (let index = 0; index < WALLETS; index++) {
    const owner = { owner: `owner ${index}`, country: COUNTRIES[index % COUNTRIES.length] ?? 'DE' };
    const id = ShardedUuid.generate<Wallet>(countries.identifierOf(owner));
    wallets.push(await actions.execute(OpenWallet, { id, ...owner }));
    await actions.execute(Deposit, { walletId: id, amount: OPENING });
  }
  return wallets;
}

/** Sends transfers while a shard is killed and started again. */
async function underLoad(app: INestApplication, wallets: readonly Wallet[]): Promise<void> {
  stage.say(`sending ${flags.transfers} transfers, seed ${flags.seed}`);
  const random = seededRandom(flags.seed);
  const load = transferLoad(app.get(Transfers), wallets, { transfers: flags.transfers, width: 8, random });
  const server = stage.named(KILLED);
  await pause(500);
  await server.kill();
  stage.say(`${KILLED} is killed: the other shards go on`);
  await pause(1500);
  await server.restart();
  stage.say(`${KILLED} runs again`);
  const { sent, within, across, refused } = await load;
  const answers = Object.entries(refused).map(([reason, count]) => `${count} ${reason}`);
  stage.say(
    `sent ${sent}: ${within} within a shard, ${across} between shards, refused ${answers.join(', ') || 0}`,
  );
}

/** What is under way ends by itself. */
async function settled(totals: Totals) {
  await waitFor(async () => (await totals.read()).underway === 0, {
    what: 'all transfers to end',
    timeoutMs: SETTLED_MS,
  });
  return totals.read();
}

/** As an operator would. */
function sagasByShardctl(): string {
  const main = fileURLToPath(new URL('../../../../../package/apps/shardctl/src/main.js', import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, [main, 'sagas', '--config', file], {
    encoding: 'utf8',
  });
  return (stdout + stderr).trimEnd();
}

async function demonstrate(): Promise<void> {
  const app = await start();
  const totals = app.get(Totals);
  const wallets = await openWallets(app);
  const before = await totals.read();
  stage.say(`${before.wallets} wallets, total ${before.balance}`);
  await underLoad(app, wallets);
  const after = await settled(totals);
  const same = after.balance === before.balance && after.stuck === 0;
  stage.say(
    stage.strong(`${after.wallets} wallets, total ${after.balance}: ${same ? 'unchanged' : 'CHANGED'}`),
  );
  stage.say(sagasByShardctl());
  if (flags.port === undefined) return stage.end(same ? 0 : 1);
  await app.listen(flags.port, '127.0.0.1');
  welcome((await app.getUrl()).replace('127.0.0.1', 'localhost'), wallets);
}

function welcome(at: string, [first]: readonly Wallet[]): void {
  stage.say(stage.strong(`ready ${at}`));
  for (const { name, pid } of stage.servers) stage.say(`${name} pid ${pid}`);
  stage.say(`curl ${at}/api/wallets/${first?.id}`);
  stage.say(`curl ${at}/api/wallets/${first?.id}/history`);
  stage.say(`curl ${at}/api/total`);
  stage.say(`shardctl: --config ${file}`);
  stage.say(stage.faint(`servers that were stopped start again with: kill -USR2 ${process.pid}`));
}

process.on(
  'SIGUSR2',
  () => void stage.startAgain().catch((error: unknown) => stage.say((error as Error).message)),
);

await stage.run(demonstrate);
