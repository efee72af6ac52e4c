import type { Finding } from '../finding.js';
import { SIDES, type Facts } from './facts.js';

export function sameDatabase({ names, source, destination }: Facts): Finding[] {
  if (source.server.identity !== destination.server.identity) return [];
  const message = `${names.source} and ${names.destination} are the same database, by two URLs: correct the configuration`;
  return [{ check: 'same-database', severity: 'error', message }];
}

export function servers(facts: Facts): Finding[] {
  const errors = [...unwritable(facts), ...otherEncoding(facts), ...otherHash(facts)];
  const warnings = [...olderDestination(facts), ...otherOrder(facts)];
  return [
    ...errors.map((message): Finding => ({ check: 'server', severity: 'error', message })),
    ...warnings.map((message): Finding => ({ check: 'server', severity: 'warning', message })),
  ];
}

/** Whole slots are selected, and keys of other slots kept away, on the server. */
export function framework({ names, rows, ...facts }: Facts): Finding[] {
  if ('keys' in rows.scope) return [];
  return SIDES.filter((side) => !facts[side].server.slots).map((side) => ({
    check: 'framework',
    severity: 'error',
    message: `${names[side]} lacks the function _sharding_slot: run shardctl migrate`,
  }));
}

function unwritable({ names, ...facts }: Facts): string[] {
  return SIDES.flatMap((side) => {
    const { standby, readOnly } = facts[side].server;
    if (standby)
      return [`${names[side]} is a standby and takes no writes: name its primary in the configuration`];
    if (!readOnly) return [];
    return [`${names[side]} is set read-only (default_transaction_read_only): look why, and reset it`];
  });
}

function otherEncoding({ names, source, destination }: Facts): string[] {
  const [here, there] = [source.server.encoding, destination.server.encoding];
  if (here === there) return [];
  return [
    `${names.source} has the encoding ${here} and ${names.destination} ${there}: move to a database with the same encoding`,
  ];
}

function otherHash({ names, source, destination }: Facts): string[] {
  if (source.server.hash === destination.server.hash) return [];
  return [
    `${names.source} and ${names.destination} hash the same text differently (hashtextextended), so that copies cannot be proven: bring both servers to one version and platform`,
  ];
}

function olderDestination({ names, source, destination }: Facts): string[] {
  const [here, there] = [source.server, destination.server];
  if (Math.floor(there.versionNumber / 10_000) >= Math.floor(here.versionNumber / 10_000)) return [];
  return [
    `${names.destination} runs PostgreSQL ${there.version}, which is older than ${here.version} of ${names.source}: values can be refused there`,
  ];
}

function otherOrder({ names, source, destination }: Facts): string[] {
  const [here, there] = [source.server.collation, destination.server.collation];
  if (here === there) return [];
  return [`texts are ordered by ${here} on ${names.source} and by ${there} on ${names.destination}`];
}
