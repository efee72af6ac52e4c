import { expect, it } from '@jest/globals';
import { VERBS } from '../../../apps/shardctl/src/commands/index.js';
import { Shardctl } from '../../support/shardctl.js';
import { OFFLINE } from './deployed.js';

const shardctl = Shardctl.attach();

it('has a help page that one can learn from', async () => {
  const { code, out, err } = await shardctl.run(['--help']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatchInlineSnapshot(`
   "Usage: shardctl <verb> [options]

   The operator’s command line of a deployment of nestjs-sharding.

   Options:
     -V, --version                     print the version
     -c, --config <file>               configuration file (default: SHARDING_CONFIG, else
                                       ./sharding.toml)
     -p, --profile <name>              profile (default: SHARDING_PROFILE)
     --json                            the answer as JSON, in a stable shape
     --debug                           with an error: what caused it, by name and code
     -h, --help                        this page; behind a verb: what it does, with examples

   Where does it live:
     route [options] <key...>          key -> slot -> group -> shard, and why
     slots [options]                   which shard owns which of the 16384 slots
     topology                          the shards with their groups, members, slots and replicas
     map [options] <what>              the slot maps that were in force: history; accept

   Exceptions from the slot map (control database):
     pin [options] <key> <shard>       pin a key to a shard of its group
     unpin [options] <key>             take a pin away
     pins [options]                    list the directory, a page at a time
     place [options] <key>             say for ever in which group a new key lives

   The databases:
     ping [options]                    latency, version, role and replica lag of every target
     doctor [options]                  what is wrong, or will be, with the reason and what to do
     query [options] <sql>             one statement on every shard, read only unless --write is given
     migrate [options] [what]          run the migrations on every target; status; down
     schema [options] <diff>           diff: what the shards do not have in common

   Moving data:
     move-slot [options]               copy rows to another shard and prove it; delete them at theirs
     moves [options]                   list the moves, the newest first
     move [options] <what> <id>        show, resume, abort: one move
     purge <id>                        delete the verified rows of a move at its source
     verify [options]                  compare what two shards hold of tenants, or of whole slots
     certificate [options] [id]        what a move has done, signed; --verify checks one
     audit [options]                   rows on the wrong shard, on two shards, or of nobody
     repair [options]                  mend what audit finds, as far as nothing can be lost by it

   Actions and events:
     actions [options] <what> [id]     stuck, show, retry, compensate: actions over several shards
     outbox [options] <what> [ids...]  the events of the shards: status; dead; requeue
     sagas [options] [resume] [id]     sagas that have not ended; resume: a stuck one goes on

   Configuration:
     init                              write a commented sharding.toml
     config                            the resolved configuration, secrets masked

   Examples:
     shardctl init                                      write a commented sharding.toml
     shardctl config --profile production               what the module would run on, secrets masked
     shardctl route acme globex                         key -> slot -> group -> shard, and why
     shardctl ping                                      is everything there, who is primary, how far behind are replicas
     shardctl doctor                                    what is wrong, or will be, and what to do
     shardctl query 'select count(*) from bookmarks'    on every shard, read only
     shardctl pin acme shard1 --note 'too big'          an exception from the slot map
     shardctl move-slot --help                          bring rows to another shard, with proof
     shardctl <verb> --help                             more of each verb; or: shardctl help <verb>

   Configuration: the file, then its profile, then the environment (SHARDING_DATABASE__POOL_SIZE=5 and so on), exactly
   as ShardingModule.forRoot() reads it. What an application sets in code (groupOf, a router of its own) is not known here.

   Exit codes: 0 all is well; 1 something was found or has failed; 2 the command line is wrong: words, options or numbers
   that make no sense, told before anything is asked; 130 and 143 interrupted by SIGINT and SIGTERM: what is under way is
   cancelled, and what is done is told, within three seconds.

   The answer goes to stdout; errors, notes and progress, a line each, to stderr. With --json the answer is one JSON
   document, and each line of stderr an object: {"error":{"code","message"}}, {"note"} or {"log"}. Passwords are never printed.

   "
  `);
});

it.each(VERBS.map(({ name }) => name))('%s --help has examples', async (name) => {
  const { code, out, err } = await shardctl.run([name, '--help']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(new RegExp(`^Usage: shardctl ${name}`));
  expect(out).toMatch(new RegExp(`\nExamples:\n  shardctl ${name}`));
  expect(out.split('\n').filter((line) => line.length > 130)).toEqual([]);
});

it('help is --help, of everything and of a verb', async () => {
  expect(await shardctl.run(['help'])).toEqual(await shardctl.run(['--help']));
  expect(await shardctl.run(['help', 'migrate', 'status'])).toEqual(
    await shardctl.run(['migrate', '--help']),
  );
});

it('tells its version', async () => {
  expect(await shardctl.run(['--version'])).toEqual({ code: 0, out: '9.9.9\n', err: '' });
});

it.each([
  [[], 'say what to do; see shardctl --help'],
  [['rout', 'acme'], "unknown command 'rout'; did you mean route? (see shardctl --help)"],
  [['help', 'rout'], "unknown command 'rout'; did you mean route? (see shardctl --help)"],
  [['frobnicate'], "unknown command 'frobnicate' (see shardctl --help)"],
  [['route', 'acme', '--jsn'], "unknown option '--jsn'; did you mean --json? (see shardctl --help)"],
  [['route'], "missing required argument 'key' (see shardctl --help)"],
  [['pin', 'acme'], "missing required argument 'shard' (see shardctl --help)"],
  [['slots', 'x'], "too many arguments for 'slots'. Expected 0 arguments but got 1. (see shardctl --help)"],
  [['place', 'acme'], "required option '--group <number>' not specified (see shardctl --help)"],
  [
    ['route', 'a', '--group', '256'],
    "option '--group <number>' argument '256' is invalid. It is a whole number from 0 to 255. (see shardctl --help)",
  ],
  [
    ['route', '--int', '--uuid', 'a'],
    "option '--int' cannot be used with option '--uuid' (see shardctl --help)",
  ],
  [
    ['query', 'select 1', '--write', '--readonly'],
    "option '--readonly' cannot be used with option '--write' (see shardctl --help)",
  ],
  [
    ['ping', '--timeout', '0'],
    "option '--timeout <seconds>' argument '0' is invalid. It is a number of seconds up to 600. (see shardctl --help)",
  ],
  [
    ['pins', '--limit', 'all'],
    "option '--limit <rows>' argument 'all' is invalid. It is a whole number from 1 to 10000. (see shardctl --help)",
  ],
  [['route', 'a', '--config'], "option '-c, --config <file>' argument missing (see shardctl --help)"],
  [['route', 'a', '--url=postgres://app:hush@db/x'], "unknown option '--url=[hidden]' (see shardctl --help)"],
])('%j is wrong usage: exit code 2 and one line', async (args, message) => {
  expect(await shardctl.run(args, { toml: OFFLINE })).toEqual({
    code: 2,
    out: '',
    err: `shardctl: ${message}\n`,
  });
});

it('says the same as JSON', async () => {
  const { code, out, err } = await shardctl.run(['rout', '--json']);
  expect({ code, out, err: JSON.parse(err) as unknown }).toEqual({
    code: 2,
    out: '',
    err: {
      error: { code: 'usage', message: "unknown command 'rout'; did you mean route? (see shardctl --help)" },
    },
  });
});

it('lists all mistakes of the configuration in one line, without secrets', async () => {
  const toml = '[database]\npool_sise = 3\nprimary_url = "mysql://app:hush@db/x"';
  expect(await shardctl.run(['slots'], { toml })).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: the sharding configuration has problems: database.pool_sise: unknown key; did you mean "pool_size"?; database.primary_url: must be a postgres:// or postgresql:// URL\n',
  });
});

it('says how to begin where there is no configuration', async () => {
  expect(await shardctl.run(['slots'])).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: the sharding configuration has problems: there is no sharding.toml in the working directory, and no SHARDING_ variable is set\n',
  });
});

it('adds the cause with --debug, by name and code only', async () => {
  const { code, out, err } = await shardctl.run(['pins', '--debug'], { toml: OFFLINE });
  expect({ code, out, err }).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: the control database cannot be reached (ECONNREFUSED)\n  cause: ShardingError shard_unavailable\n  cause: Error ECONNREFUSED\n',
  });
});

it('takes a reader that has gone for no failure', async () => {
  expect(await shardctl.run(['slots', '--json'], { toml: OFFLINE, deafTo: ['stdout'] })).toEqual({
    code: 0,
    out: '',
    err: '',
  });
});
