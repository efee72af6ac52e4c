import { Option } from 'commander';
import { auditedOptions, auditRequest, type AuditedOptions } from './audit.js';
import { operatorName } from '../open-pins.js';
import { repairJson, repairNotes, repairText } from '../output/audit-text-repair.js';
import { byOption } from './pin.js';
import { withMovesOf } from './move-run.js';
import { UsageError, type Verb } from '../verb.js';

interface RepairOptions extends AuditedOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  readonly by?: string;
}

export const repair: Verb<RepairOptions> = {
  name: 'repair',
  group: 'moving',
  usage: '',
  summary: 'mend what audit finds, as far as nothing can be lost by it',
  description:
    'Audits, then: moves misplaced rows to where their key is routed, by a verified move, if they are on one shard alone; deletes ' +
    'rows that the right shard has byte for byte too; removes leftovers of moves that were aborted or are unknown; ends repairs ' +
    'that were interrupted. Each key stands for itself. Rows that differ on two shards, orphans and rows without a key are ' +
    'left to you, and not touched.\n\n' +
    'Exit code 0 when everything was mended, or nothing had to be; 1 when something is planned, refused or left.',
  options: () => [
    ...auditedOptions(),
    new Option('--dry-run', 'say what would be done, and change nothing').conflicts('yes'),
    new Option('--yes', 'do it'),
    byOption(),
  ],
  examples: [
    ['repair --dry-run', 'the plan'],
    ['repair --yes --shard shard1', 'what is wrong on one shard'],
  ],
  async run({ options }, session) {
    const { dryRun, yes, by = operatorName() } = options;
    if (!dryRun && !yes) throw new UsageError('say --dry-run to see what would be done, --yes to do it');
    const { signal } = session;
    const report = await withMovesOf(session, (moves) =>
      moves.repair(auditRequest(options), { mode: yes ? 'apply' : 'dry-run', by, signal }),
    );
    return {
      json: repairJson(report),
      text: (style) => repairText(report, style),
      outcome: report.healed ? 'ok' : 'failed',
      notes: repairNotes(report),
    };
  },
};
