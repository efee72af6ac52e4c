import { ShardingError } from '@app/routing';

/** Text that can hold a password: a URL that ended up where a name belongs, say. */
const CONFIDENTIAL = /\w+:\/\/[^\s"]+|\bpassword=[^\s"]*/gi;

/** One error for all mistakes of a configuration. */
export function configurationError(problems: readonly string[]): ShardingError {
  const lines = problems.map((problem) => problem.replace(CONFIDENTIAL, '[hidden]'));
  const error = new ShardingError(
    'invalid_topology',
    ['the sharding configuration has problems:', ...lines].join('\n  - '),
  );
  error.stack = `${error.name}: ${error.message}`; // the place in the library tells its reader nothing
  return error;
}
