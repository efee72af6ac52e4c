import { Option } from 'commander';
import { seconds, wholeNumber } from '../arguments.js';
import { operatorName, unusedNote } from '../open-pins.js';
import { nextSteps, nextText } from '../output/move-next.js';
import { moveJson, rowsOfTables, shortId, subjectsText, tablesText, totalText } from '../output/move-text.js';
import { UsageError, type Report, type Session, type Verb } from '../verb.js';
import { rowsOf, rowsOptions, type RowsOptions } from './move-options.js';
import { runMove } from './move-run.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { MoveRecord, MoveRequest } from '@app/sharding/operator';

interface MoveSlotOptions extends RowsOptions {
  readonly fence?: true;
  readonly fenceSeconds?: number;
  readonly throttle?: number;
  readonly reassignIds?: true;
  readonly idColumn?: string;
  readonly confirm?: true;
  readonly by?: string;
}

const DAY_S = 86_400;

export const moveSlot: Verb<MoveSlotOptions> = {
  name: 'move-slot',
  group: 'moving',
  usage: '',
  summary: 'copy rows to another shard and prove it; delete them at theirs',
  description:
    'Checks everything beforehand, copies, compares the content of both sides, and leaves the rows at the source. Nothing is ' +
    'routed anew: it ends with what to do for that. With --confirm, afterwards, it deletes the rows at the source, if they are ' +
    'still those that were verified and every living process routes them to the other shard. The same command again goes on ' +
    'where it was interrupted. Keys of whole slots that pins lead elsewhere, or keep at the source, stay where they are.',
  options: () => [
    ...rowsOptions(),
    new Option('--fence', 'the source refuses writes of these rows while they are compared last'),
    new Option('--fence-seconds <number>', 'when the fence lifts itself (default: 30)').argParser(
      seconds(DAY_S),
    ),
    new Option('--throttle <rows>', 'so many rows per second').argParser(wholeNumber(1, 1_000_000_000)),
    new Option('--id-column <name>', 'what tells rows apart, not null and unique (default: the primary key)'),
    new Option('--reassign-ids', 'the destination numbers the rows, in tables that no foreign key refers to'),
    new Option('--confirm', 'they are routed to the other shard: delete them at the source'),
    new Option('--by <who>', 'who, for the record (default: your login)'),
  ],
  examples: [
    ['move-slot --from shard0 --to shard1 --tenant acme', 'all tables with a tenant_id'],
    ['move-slot --from shard0 --to shard1 --tenant acme --confirm', 'once acme is pinned to shard1'],
    [
      'move-slot --from shard0 --to shard1 --slots 8000-8191 --fence',
      'whole slots, writes refused at the end',
    ],
  ],
  async run({ options }, session) {
    const request = requestOf(options);
    const settings = await session.settings();
    if (options.confirm) return confirmed(request, session);
    return runMove(session, {
      work: (moves, call) => moves.move(request, call),
      again: ['move', 'resume'],
      done: (move) => verifiedReport(move, settings, session),
    });
  },
};

function requestOf(options: MoveSlotOptions): MoveRequest {
  const { fence, fenceSeconds, throttle, reassignIds, idColumn, by = operatorName() } = options;
  if (fenceSeconds !== undefined && !fence) throw new UsageError('--fence-seconds belongs to --fence');
  return {
    ...rowsOf(options),
    by,
    ...(fence && { writes: 'fenced' }),
    ...(fenceSeconds !== undefined && { fenceMs: Math.ceil(fenceSeconds * 1000) }),
    ...(throttle !== undefined && { throttle }),
    ...(idColumn !== undefined && { idColumn }),
    ...(reassignIds && { ids: 'reassigned' }),
  };
}

function confirmed(request: MoveRequest, session: Session): Promise<Report> {
  return runMove(session, {
    work: (moves, call) => moves.confirm(request, call),
    again: ['purge'],
    done: purgedReport,
  });
}

/** Of a move that waits for its route. */
export function verifiedReport(move: MoveRecord, settings: ShardingSettings, { source }: Session): Report {
  const next = nextSteps(move, settings.topology, source);
  return {
    json: { ...moveJson(move), next },
    text: (style) =>
      [
        tablesText(move, style),
        `${totalText(move)}: ${subjectsText(move)} at ${move.destination} equal to ${move.source} (move ${shortId(move)})`,
        nextText(move, next),
      ].join('\n'),
    notes: 'slots' in move.scope ? [SHARED] : pinNotes(move, settings),
  };
}

const SHARED =
  'a slot is shared by many tenants: change its owner only because the whole slot was moved; to move one tenant, use --tenant and pin it';

function pinNotes({ terms }: MoveRecord, settings: ShardingSettings): string[] {
  return terms.keyKind === 'text' ? unusedNote(settings) : [];
}

/** Of a move that has ended well. */
export function purgedReport(move: MoveRecord): Report {
  return {
    json: { ...moveJson(move), deleted: rowsOfTables(move) },
    text: (style) =>
      [
        tablesText(move, style),
        `deleted at ${move.source}: ${totalText(move)}; ${subjectsText(move)} is at ${move.destination} alone (move ${shortId(move)})`,
      ].join('\n'),
  };
}
