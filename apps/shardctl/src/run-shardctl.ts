import { CommanderError } from 'commander';
import { VERBS } from './commands/index.js';
import { causesOf, failureOf } from './failure.js';
import { oneLine } from './output/printable.js';
import { COLORED, PLAIN } from './output/style.js';
import { createProgram, type GlobalOptions } from './program.js';
import { UsageError, type ConfigurationSource, type Report, type Session } from './verb.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { VerbRun } from './program.js';

/** Exit codes: stable and documented. */
const OK = 0;
const FAILED = 1;
const USAGE = 2;
const INTERRUPTED = 130;

/** After an interrupt what is under way gets this long to end on its servers. */
const INTERRUPT_GRACE_MS = 3000;

/** Runs one command line. @returns the exit code; nothing is left open then. `process.exitCode` is set where output fails */
export async function runShardctl(args: readonly string[]): Promise<number> {
  const interrupt = onInterrupt();
  for (const stream of [process.stdout, process.stderr]) stream.on('error', outputFailed);
  let code = OK;
  let global: GlobalOptions = flagsOf(args);
  if (!global.debug) process.removeAllListeners('warning'); // of drivers, to the programmer
  const program = createProgram(VERBS, async (verb) => {
    global = verb.global;
    code = await runVerb(verb, interrupt.signal);
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return interrupt.signal.aborted ? INTERRUPTED : code;
  } catch (error) {
    if (interrupt.signal.aborted) return INTERRUPTED;
    return tellFailure(error, global);
  } finally {
    interrupt.dispose();
  }
}

async function runVerb({ verb, call, global }: VerbRun, signal: AbortSignal): Promise<number> {
  const report = await verb.run(call, session(global, signal));
  write(process.stdout, printed(report, global));
  for (const note of report.notes ?? []) write(process.stderr, `shardctl: ${oneLine(note)}`);
  if (signal.aborted) return INTERRUPTED;
  return report.outcome === 'failed' ? FAILED : OK;
}

function printed(report: Report, { json }: GlobalOptions): string {
  if (json) return JSON.stringify(report.json, null, 2);
  return report.text(process.stdout.isTTY && !process.env['NO_COLOR'] ? COLORED : PLAIN);
}

function session({ config, profile }: GlobalOptions, signal: AbortSignal): Session {
  const source = { file: config, profile };
  let settings: Promise<ShardingSettings> | undefined;
  return { source, signal, settings: () => (settings ??= settingsOf(source)) };
}

/** Loaded when it is needed: a help page needs none of it. */
async function settingsOf(source: ConfigurationSource): Promise<ShardingSettings> {
  const { loadSettings } = await import('./configuration.js');
  return loadSettings(source);
}

/** @returns the exit code */
function tellFailure(error: unknown, { json, debug }: GlobalOptions): number {
  if (error instanceof CommanderError && error.exitCode === 0) return OK; // --help, --version
  const usage = error instanceof CommanderError || error instanceof UsageError;
  const { code, message } = usage ? { code: 'usage', message: usageMessage(error) } : failureOf(error);
  const causes = debug && !usage ? causesOf(error) : [];
  if (json) {
    write(process.stderr, JSON.stringify({ error: { code, message, ...(debug && { causes }) } }));
  } else {
    write(process.stderr, `shardctl: ${message}`);
    for (const cause of causes) write(process.stderr, `  cause: ${cause}`);
  }
  return usage ? USAGE : FAILED;
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

function write(stream: NodeJS.WriteStream, text: string): void {
  if (text !== '') stream.write(`${text}\n`);
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

/** The first interrupt lets what is under way end; the second does not wait. */
function onInterrupt(): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  const leave = () => process.exit(INTERRUPTED);
  const interrupt = () => {
    if (controller.signal.aborted) leave();
    controller.abort();
    setTimeout(leave, INTERRUPT_GRACE_MS).unref();
  };
  process.on('SIGINT', interrupt);
  return { signal: controller.signal, dispose: () => void process.off('SIGINT', interrupt) };
}
