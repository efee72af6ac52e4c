import { CommanderError } from 'commander';
import { VERBS } from './commands/index.js';
import { causesOf, failureOf } from './failure.js';
import { onInterrupt } from './interrupts.js';
import { oneLine } from './output/printable.js';
import { COLORED, PLAIN } from './output/style.js';
import { toldOn, type Told } from './output/told.js';
import { createProgram, type GlobalOptions } from './program.js';
import { UsageError, type ConfigurationSource, type Report, type Session } from './verb.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { VerbRun } from './program.js';

/** Exit codes: stable and documented, with those of `interrupts.ts`. */
const OK = 0;
const FAILED = 1;
const USAGE = 2;

/** Runs one command line. @returns the exit code; nothing is left open then. `process.exitCode` is set where output fails */
export async function runShardctl(args: readonly string[]): Promise<number> {
  let global: GlobalOptions = flagsOf(args);
  const interrupts = onInterrupt(() => told(global).failure(LATE));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', outputFailed);
  let code = OK;
  if (!global.debug) process.removeAllListeners('warning'); // of drivers, to the programmer
  const program = createProgram(VERBS, async (verb) => {
    global = verb.global;
    code = await runVerb(verb, interrupts.signal);
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return interrupts.code() ?? code;
  } catch (error) {
    return interrupts.code() ?? tellFailure(error, global);
  } finally {
    interrupts.dispose();
  }
}

const LATE = { code: 'aborted', message: 'interrupted; what was under way has not ended in time' };

/** @returns the exit code */
async function runVerb({ verb, call, global }: VerbRun, signal: AbortSignal): Promise<number> {
  const report = await verb.run(call, session(global, signal));
  const text = printed(report, global);
  if (text !== '') process.stdout.write(`${text}\n`);
  for (const note of report.notes ?? []) told(global).note(note);
  if (report.error !== undefined) return tellFailure(report.error, global);
  return report.outcome === 'failed' ? FAILED : OK;
}

function told({ json }: GlobalOptions): Told {
  return toldOn(process.stderr, json ? 'json' : 'text');
}

function printed(report: Report, { json }: GlobalOptions): string {
  if (json) return JSON.stringify(report.json, null, 2);
  return report.text(process.stdout.isTTY && !process.env['NO_COLOR'] ? COLORED : PLAIN);
}

function session(global: GlobalOptions, signal: AbortSignal): Session {
  const source = { file: global.config, profile: global.profile };
  let settings: Promise<ShardingSettings> | undefined;
  return { source, signal, told: told(global), settings: () => (settings ??= settingsOf(source)) };
}

/** Loaded when it is needed: a help page needs none of it. */
async function settingsOf(source: ConfigurationSource): Promise<ShardingSettings> {
  const { loadSettings } = await import('./configuration.js');
  return loadSettings(source);
}

/** @returns the exit code */
function tellFailure(error: unknown, global: GlobalOptions): number {
  if (error instanceof CommanderError && error.exitCode === 0) return OK; // --help, --version
  if (error instanceof CommanderError || error instanceof UsageError) {
    told(global).failure({ code: 'usage', message: usageMessage(error) });
    return USAGE;
  }
  told(global).failure(failureOf(error), global.debug ? causesOf(error) : undefined);
  return FAILED;
}

/** `error: unknown command 'rout'\n(Did you mean route?)` as one line that ends with what to do. */
function usageMessage(error: Error): string {
  if (error instanceof CommanderError && error.code === 'commander.help')
    return 'say what to do; see shardctl --help';
  const text = error.message.replace(/^error: /, '').replace(/\n\((Did you mean .*\?)\)$/, '; $1');
  return oneLine(
    `${text.replace('; Did', '; did')}${/see shardctl/.test(text) ? '' : ' (see shardctl --help)'}`,
  );
}

/** What `--json` and `--debug` say before the command line is understood, for its own mistakes. */
function flagsOf(args: readonly string[]): GlobalOptions {
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  return { json: flags.includes('--json'), debug: flags.includes('--debug') };
}

/** Somebody who reads no more, and a terminal that is gone. */
const GONE = ['EPIPE', 'EIO'];

/**
 * Whoever read may have seen enough: what is under way goes on, and its exit code tells how it ended. Anything else has kept
 * an answer from somebody who wanted it, a full disk say, perhaps after the end of the verb.
 */
function outputFailed({ code }: NodeJS.ErrnoException): void {
  if (!GONE.includes(code ?? '')) process.exitCode ||= FAILED;
}
