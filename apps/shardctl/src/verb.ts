import type { Option } from 'commander';
import type { ShardingSettings } from '@app/sharding/config';
import type { Style } from './output/style.js';
import type { Told } from './output/told.js';

/** What every verb is given beside its own arguments. */
export interface Session {
  /** The configuration as the module would resolve it; read when a verb first asks. @throws ShardingError */
  settings(): Promise<ShardingSettings>;
  /** The flags that name the configuration. */
  readonly source: ConfigurationSource;
  /** Fires when the operator interrupts. */
  readonly signal: AbortSignal;
  /** What is said beside the answer. */
  readonly told: Told;
}

export interface ConfigurationSource {
  readonly file?: string | undefined;
  readonly profile?: string | undefined;
}

/** What a verb has found out. */
export interface Report {
  /** The shape of `--json`, which is stable. */
  readonly json: object;
  /** The same for people, without the last line break; empty says nothing. */
  text(style: Style): string;
  /** A finding or a failure: exit code 1. Default `ok`. */
  readonly outcome?: 'ok' | 'failed';
  /** What has ended the work before its end, told as such behind the answer: exit code 1. */
  readonly error?: unknown;
  /** For stderr: what is not the answer and must be seen with it. */
  readonly notes?: readonly string[];
}

/** Headings of the help page, in its order. */
export const VERB_GROUPS = {
  routing: 'Where does it live:',
  directory: 'Exceptions from the slot map (control database):',
  databases: 'The databases:',
  moving: 'Moving data:',
  actions: 'Actions and events:',
  configuration: 'Configuration:',
} as const;

/** One word of the command line. A file of `commands` has one. */
export interface Verb<Options extends object = object> {
  readonly name: string;
  readonly group: keyof typeof VERB_GROUPS;
  /** `<key...>` in the words of commander. */
  readonly usage: string;
  readonly summary: string;
  /** Further lines of its help. */
  readonly description: string;
  readonly options: () => readonly Option[];
  /** Command lines without `shardctl`, each with what it does. */
  readonly examples: readonly (readonly [string, string])[];
  run(call: VerbCall<Options>, session: Session): Promise<Report>;
}

export interface VerbCall<Options extends object> {
  readonly args: readonly string[];
  readonly options: Options;
}

/** The call itself is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
