import { styleText } from 'node:util';
import { createScratchDirectory, removeScratchDirectory } from './scratch-directory.js';
import type { PostgresServer } from './postgres-server.js';

/** Servers and output of a demonstration, and its end: nothing is left of it, however it ends. */
export class DemoStage {
  readonly servers: PostgresServer[] = [];
  readonly #steps: (() => Promise<unknown>)[] = [];
  readonly #color: boolean;
  #ending: Promise<void> | undefined;

  constructor(color: boolean) {
    this.#color = color;
    const onSignal = () => {
      if (this.#ending) process.exit(130); // the second one waits for nothing; the servers' own watch cleans up
      void this.end(0);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    process.stdout.on('error', () => void this.end(0)); // the reader has gone
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  say(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  strong(text: string): string {
    return this.#color ? styleText(['bold', 'green'], text) : text;
  }

  faint(text: string): string {
    return this.#color ? styleText('gray', text) : text;
  }

  /** Starts a server, says so, and stops it at the end. */
  async start(name: string, start: () => Promise<PostgresServer>): Promise<PostgresServer> {
    const began = performance.now();
    const server = await start();
    this.servers.push(server);
    this.atEnd(() => server.dispose());
    const took = Math.round(performance.now() - began);
    this.say(this.faint(`started ${name} on port ${server.port} in ${took} ms`));
    return server;
  }

  named(name: string): PostgresServer {
    const server = this.servers.find((candidate) => candidate.name === name);
    if (!server) throw new Error(`${name} was not started`);
    return server;
  }

  /** A directory that is removed at the end. */
  async directory(): Promise<string> {
    const directory = await createScratchDirectory({});
    this.atEnd(() => removeScratchDirectory(directory));
    return directory;
  }

  /** The steps of the end run in reverse order. */
  atEnd(step: () => Promise<unknown>): void {
    this.#steps.push(step);
  }

  /** Starts those servers that were stopped again. */
  async startAgain(): Promise<void> {
    for (const server of this.servers) {
      if (server.isRunning) this.say(this.faint(`${server.name} is running`));
      else {
        await server.restart();
        this.say(`${server.name} pid ${server.pid}`);
      }
    }
  }

  /** Runs a demonstration; a failure is told. */
  async run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#ending) this.say(`the demo failed: ${(error as Error).message}`);
      await this.end(1);
    }
  }

  /** Closes in reverse order; a failure is told and stops nothing. Ends the process. */
  end(code: number): Promise<void> {
    return (this.#ending ??= this.#end(code));
  }

  async #end(code: number): Promise<void> {
    this.say('stopping');
    for (const step of this.#steps.toReversed()) {
      await step().catch((error: unknown) => this.say(`while stopping: ${(error as Error).message}`));
    }
    process.exit(code);
  }
}
