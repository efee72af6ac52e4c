/** A process that runs jobs: says what it is called with, a line each, and never finishes a job of the name `endless`. */
import 'reflect-metadata';

const [root, text] = process.argv.slice(2);
const { sharding, jobs } = JSON.parse(text);
const { Module } = await import('@nestjs/common');
const { NestFactory } = await import('@nestjs/core');
const { ShardingModule } = await import(`${root}/libs/sharding/src/index.js`);
const { Cron, Job, JobsModule } = await import(`${root}/libs/jobs/src/index.js`);

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

class Handlers {
  async endless(payload, { id, attempt }) {
    say({ endless: id, attempt });
    await new Promise(() => undefined);
  }

  tick({ dueAt }) {
    say({ dueAt });
  }
}

decorate(
  'endless',
  Job('endless', { leaseSeconds: 5, retry: { limit: 3, delaySeconds: 0, backoff: 'fixed' } }),
);
decorate('tick', Cron('* * * * * *', { name: 'tick' }));

function decorate(method, decorator) {
  decorator(Handlers.prototype, method, Object.getOwnPropertyDescriptor(Handlers.prototype, method));
}

class App {}
Module({
  imports: [ShardingModule.forRoot(sharding), JobsModule.forRoot(jobs)],
  providers: [Handlers],
})(App);

const app = await NestFactory.createApplicationContext(App, { logger: false });
app.enableShutdownHooks([], { useProcessExit: true });
say({ ready: true });
