/** A process of the wallets service. Sends transfers until it is told to stop, and says how many, a line each time. */
import 'reflect-metadata';
import { createInterface } from 'node:readline';

const [root, text] = process.argv.slice(2);
const { sharding, actions, wallets, width } = JSON.parse(text);
const { createApp } = await import(`${root}/apps/wallets/src/create-app.js`);
const { Transfers } = await import(`${root}/apps/wallets/src/transfers.js`);
const { transferLoad } = await import(`${root}/apps/wallets/src/load.js`);

const ROUND = 20;
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
let sending = true;

const app = await createApp({ sharding, actions, logger: false });
app.enableShutdownHooks([], { useProcessExit: true });
await app.init();
say({ ready: true });
createInterface(process.stdin).on('line', () => (sending = false));

while (sending) {
  const plan = { transfers: ROUND, width, random: Math.random };
  const report = await transferLoad(app.get(Transfers), wallets, plan);
  say({ sent: report.within + report.across, refused: report.refused });
}
say({ quiet: true });
