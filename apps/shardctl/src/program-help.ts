/** What the help page says behind the list of verbs. */
export const PROGRAM_HELP = `
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
`;
