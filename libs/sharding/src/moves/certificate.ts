import { createHmac, timingSafeEqual } from 'node:crypto';
import { printSlots, ShardingError } from '@app/routing';
import { tableName } from './tables/moved-table.js';
import type { Secret } from '../secret.js';
import type { KeyKind } from './move-request.js';
import type { MoveRecord, MoveState, MoveStep } from './record/move-record.js';

const FORMAT = 'nestjs-sharding.move-certificate.v1';

/** What a move has done, for those who were not there. Holds routing keys and no content of rows. */
export interface MoveCertificate {
  readonly format: typeof FORMAT;
  readonly move: string;
  readonly state: MoveState;
  /** As text: a bigint, like all counts. */
  readonly epoch: string;
  readonly source: string;
  readonly destination: string;
  readonly group: number;
  /** Null where whole slots were moved. */
  readonly keys: readonly string[] | null;
  /** `"7695, 8192-8200"`; null where keys were moved. */
  readonly slots: string | null;
  /** Keys of the slots that stayed where pins have them. */
  readonly kept_keys: readonly string[];
  readonly key_column: string;
  readonly key_kind: KeyKind;
  readonly tables: readonly CertifiedTable[];
  readonly steps: readonly MoveStep[];
  readonly write_pause: WritePause | null;
  readonly started_by: string;
  readonly started_at: string;
  /** HMAC-SHA256, in hex, of everything else as canonical JSON; null: not signed. */
  readonly signature: string | null;
}

/** One table as it was verified on both sides; nulls before anything was. */
export interface CertifiedTable {
  readonly table: string;
  readonly rows: string | null;
  /** Two sums of hashes. Their seeds stay in the record of the move: with them few rows could be guessed. */
  readonly fingerprint: readonly [string, string] | null;
}

/** The longest that a fence can have refused writes; null where the operator kept writers away. */
export interface WritePause {
  readonly from: string;
  readonly until: string;
  readonly ms: number;
}

/** @param secret `move_certificate_secret`; undefined: nobody signs */
export function moveCertificate(move: MoveRecord, secret: Secret | undefined): MoveCertificate {
  const { scope, terms } = move;
  const certificate = {
    format: FORMAT,
    move: move.id,
    state: move.state,
    epoch: move.epoch,
    source: move.source,
    destination: move.destination,
    group: move.group,
    keys: 'keys' in scope ? scope.keys : null,
    slots: 'slots' in scope ? printSlots(scope.slots) : null,
    kept_keys: terms.kept,
    key_column: terms.keyColumn,
    key_kind: terms.keyKind,
    tables: certifiedTables(move),
    steps: move.steps,
    write_pause: writePause(move),
    started_by: move.startedBy,
    started_at: move.startedAt.toISOString(),
  } as const;
  return { ...certificate, signature: secret ? signatureOf(certificate, secret) : null };
}

export type CertificateVerdict = 'genuine' | 'unsigned' | 'not_genuine';

/**
 * Whether a certificate is one that was signed with the secret, unchanged.
 *
 * @throws ShardingError `invalid_options` where it is no certificate
 */
export function checkCertificate(
  text: string,
  secret: Secret,
): { readonly verdict: CertificateVerdict; readonly certificate: MoveCertificate } {
  const certificate = parsed(text);
  const { signature, ...rest } = certificate;
  if (signature === null) return { verdict: 'unsigned', certificate };
  const [expected, found] = [signatureOf(rest, secret), signature].map((hex) => Buffer.from(hex));
  const same = expected && found && expected.length === found.length && timingSafeEqual(expected, found);
  return { verdict: same ? 'genuine' : 'not_genuine', certificate };
}

function parsed(text: string): MoveCertificate {
  const value = parsedJson(text);
  if (typeof value === 'object' && value !== null && 'format' in value && 'signature' in value) {
    const { format, signature } = value;
    if (format === FORMAT && (signature === null || typeof signature === 'string')) {
      return value as MoveCertificate;
    }
  }
  throw new ShardingError('invalid_options', 'this is no certificate of a move: "certificate ID" writes one');
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function certifiedTables({ tables, proof }: MoveRecord): CertifiedTable[] {
  return tables.map((table, at) => {
    const { rows = null, sums = null } = proof?.tables[at] ?? {};
    return { table: tableName(table), rows, fingerprint: sums };
  });
}

const ENDS: readonly MoveState[] = ['switched', 'routed', 'purged', 'aborted'];

/** Of the last fence: it lifts itself, and does not outlive what ends it. */
function writePause({ steps, terms }: MoveRecord): WritePause | null {
  const at = steps.findLastIndex(({ state }) => state === 'fenced');
  const fenced = steps[at];
  if (fenced === undefined) return null;
  const end = steps.slice(at).find(({ state }) => ENDS.includes(state));
  const from = Date.parse(fenced.at) - fenced.ms;
  const lifts = Date.parse(fenced.at) + terms.fenceMs;
  const until = Math.min(lifts, end ? Date.parse(end.at) : lifts);
  return { from: new Date(from).toISOString(), until: new Date(until).toISOString(), ms: until - from };
}

function signatureOf(certificate: object, secret: Secret): string {
  return createHmac('sha256', secret.reveal()).update(canonicalJson(certificate)).digest('hex');
}

/** Without spaces, names in the order of their code units: the same text for the same value. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
