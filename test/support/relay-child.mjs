/** A process whose handler commits its effect, says so, and never ends. */
import 'reflect-metadata';

const [root, text] = process.argv.slice(2);
const { NestFactory } = await import('@nestjs/core');
const { ActionsModule, EventType, OnEvent } = await import(`${root}/libs/actions/src/index.js`);
const { ShardingModule } = await import(`${root}/libs/sharding/src/index.js`);

class NoteWritten {}
EventType('note.written')(NoteWritten);

class Handlers {
  async handle(_event, { once, aggregateId }) {
    await once((tx) =>
      tx.query('insert into notes (tenant_id, body) values ($1, $2)', ['acme', aggregateId]),
    );
    process.stdout.write(`${aggregateId}\n`);
    await new Promise(() => undefined);
  }
}
const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle');
OnEvent(NoteWritten, { name: 'note-it' })(Handlers.prototype, 'handle', method);

class App {}
const imports = [
  ShardingModule.forRoot({ ...JSON.parse(text), health: false, metrics: false }),
  ActionsModule.forRoot({ outbox: { leaseMs: 300 } }),
];
await NestFactory.createApplicationContext(
  { module: App, imports, providers: [Handlers] },
  { logger: false },
);
