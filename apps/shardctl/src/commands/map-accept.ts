import { ShardingError } from '@app/routing';
import { askSlotMap, LOCK_LIMIT_MS } from '../ask-slot-map.js';
import { canConfirm, confirm } from '../confirm.js';
import { changesLines } from '../output/map-text.js';
import type { ProposedMap } from '@app/sharding/operator';
import type { Report, Session } from '../verb.js';

export interface AcceptFlags {
  readonly yes?: true;
  readonly identifiers?: true;
}

type Refusal = 'identifiers' | 'not_confirmed' | null;

/** Records the configured slot map, once somebody has said so who has seen what changed. */
export async function mapAccept(flags: AcceptFlags, session: Session): Promise<Report> {
  const { topology, unsharded } = await session.settings();
  if (unsharded) {
    throw new ShardingError('invalid_topology', 'no shards are declared: there is no slot map to accept');
  }
  const { acceptMap, proposedMap } = await import('@app/sharding/operator');
  const proposal = await askSlotMap(session, (client) => proposedMap(client, topology));
  if (proposal.unchanged) return report(proposal, { recorded: false, refused: null, told: false });
  const { refused, told } = await decide(proposal, flags, session.signal);
  if (refused !== null) return report(proposal, { recorded: false, refused, told });
  await askSlotMap(session, (client) =>
    acceptMap(client, topology, { seen: proposal.newest, limitMs: LOCK_LIMIT_MS }),
  );
  return report(proposal, { recorded: true, refused, told });
}

interface Decision {
  readonly refused: Refusal;
  /** Whether the operator has seen the changes already. */
  readonly told: boolean;
}

async function decide(
  proposal: ProposedMap,
  { yes, identifiers }: AcceptFlags,
  signal: AbortSignal,
): Promise<Decision> {
  const { changesIdentifiers } = await import('@app/sharding/operator');
  if (changesIdentifiers(proposal.changes) && !identifiers) return { refused: 'identifiers', told: false };
  if (yes) return { refused: null, told: false };
  if (!canConfirm()) return { refused: 'not_confirmed', told: false };
  process.stderr.write(`${proposalText(proposal)}\n`);
  const confirmed = await confirm(`record this as version ${proposal.newest + 1}?`, signal);
  return { refused: confirmed ? null : 'not_confirmed', told: true };
}

const REMEDIES = {
  identifiers:
    'nothing was recorded: ids carry the identifiers for ever. Give the old ones back, or say --identifiers if no id was made',
  not_confirmed: 'nothing was recorded; to record it say --yes',
} as const;

function report(proposal: ProposedMap, end: Decision & { readonly recorded: boolean }): Report {
  const { newest, changes } = proposal;
  const { recorded, refused } = end;
  return {
    json: { version: recorded ? newest + 1 : newest || null, recorded, refused, changes },
    text: () => endText(proposal, end),
    outcome: refused === null ? 'ok' : 'failed',
    notes: refused === null ? [] : [REMEDIES[refused]],
  };
}

function endText(proposal: ProposedMap, { recorded, told }: { recorded: boolean; told: boolean }): string {
  const { newest, unchanged } = proposal;
  if (unchanged) return `version ${newest} is what is configured: nothing to accept`;
  return [
    ...(told ? [] : [proposalText(proposal)]),
    ...(recorded ? [`recorded as version ${newest + 1}`] : []),
  ].join('\n');
}

function proposalText({ newest, changes }: ProposedMap): string {
  const title =
    newest === 0 ? 'no slot map is recorded yet:' : `the configured slot map differs from version ${newest}:`;
  return [title, ...changesLines(changes)].join('\n');
}
