import { askSlotMap } from '../ask-slot-map.js';
import { historyText, timeOf } from '../output/map-text.js';
import type { RecordedMap } from '@app/sharding/operator';
import type { Report, Session } from '../verb.js';

const DEFAULT_LIMIT = 20;

/** The newest versions that are recorded, oldest of them first. */
export async function mapHistory(
  { limit = DEFAULT_LIMIT }: { readonly limit?: number },
  session: Session,
): Promise<Report> {
  const { recordedMaps } = await import('@app/sharding/operator');
  const maps = await askSlotMap(session, recordedMaps);
  const shown = maps.slice(0, limit).toReversed();
  return {
    json: { versions: shown.map(versionJson), more: maps.length > shown.length },
    text: (style) => historyText(shown, style),
    notes:
      maps.length > shown.length ? [`there are ${maps.length - shown.length} older ones; see --limit`] : [],
  };
}

function versionJson({ version: { version, recordedAt, shards }, changes }: RecordedMap) {
  return {
    version,
    recorded_at: timeOf(recordedAt),
    shards: shards.map(({ name, group, member, slots, autoSplit }) => ({
      shard: name,
      group,
      member,
      ranges: slots === '' ? [] : slots.split(', '),
      auto_split: autoSplit,
    })),
    changes,
  };
}
