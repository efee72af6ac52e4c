import { Command, Option } from 'commander';
import { PROGRAM_HELP } from './program-help.js';
import { packageVersion } from './package-version.js';
import { VERB_GROUPS, type Verb, type VerbCall } from './verb.js';

/** What may stand behind every verb. */
export interface GlobalOptions {
  readonly config?: string;
  readonly profile?: string;
  readonly json?: boolean;
  readonly debug?: boolean;
}

/** One understood command line. */
export interface VerbRun {
  readonly verb: Verb;
  readonly call: VerbCall<object>;
  readonly global: GlobalOptions;
}

/** The command line of all verbs. It never ends the process: mistakes and help are thrown as `CommanderError`. */
export function createProgram(verbs: readonly Verb[], execute: (run: VerbRun) => Promise<void>): Command {
  const program = new Command('shardctl')
    .usage('<verb> [options]')
    .description('The operator’s command line of a deployment of nestjs-sharding.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'this page; behind a verb: what it does, with examples')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true, helpWidth: 100 })
    .addHelpText('after', PROGRAM_HELP)
    .exitOverride()
    .configureOutput({ outputError: () => undefined, writeErr: () => undefined });
  for (const option of globalOptions()) program.addOption(option);
  for (const heading of Object.keys(VERB_GROUPS)) {
    for (const verb of verbs)
      if (verb.group === heading) program.addCommand(commandOf(verb, program, execute));
  }
  return program.addCommand(helpOf(program), { hidden: true });
}

/** `help route` is `route --help`; a word that is no verb is told as one. */
function helpOf(program: Command): Command {
  return new Command('help')
    .copyInheritedSettings(program)
    .argument('[verb]')
    .allowExcessArguments()
    .action(async (name?: string) => {
      const found = name === undefined ? program : program.commands.find((one) => one.name() === name);
      found?.help();
      await program.parseAsync([name ?? ''], { from: 'user' });
    });
}

function globalOptions(): Option[] {
  return [
    new Option('-c, --config <file>', 'configuration file (default: SHARDING_CONFIG, else ./sharding.toml)'),
    new Option('-p, --profile <name>', 'profile (default: SHARDING_PROFILE)'),
    new Option('--json', 'the answer as JSON, in a stable shape'),
    new Option('--debug', 'with an error: what caused it, by name and code'),
  ];
}

function commandOf(verb: Verb, program: Command, execute: (run: VerbRun) => Promise<void>): Command {
  const command = new Command(verb.name)
    .copyInheritedSettings(program)
    .helpGroup(VERB_GROUPS[verb.group])
    .summary(verb.summary)
    .description(`${verb.summary}\n\n${verb.description}`)
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', examplesOf(verb));
  for (const argument of verb.usage.split(' ').filter(Boolean)) command.argument(argument);
  for (const option of verb.options()) command.addOption(option);
  return command.action(async () => {
    await execute({ verb, call: { args: command.args, options: command.opts() }, global: program.opts() });
  });
}

function examplesOf({ examples }: Verb): string {
  const width = Math.max(...examples.map(([line]) => line.length)) + 'shardctl '.length;
  const lines = examples.map(([line, does]) => `  ${`shardctl ${line}`.padEnd(width)}   ${does}`);
  return ['', 'Examples:', ...lines].join('\n');
}
