import { describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { canonicalJson, checkCertificate, moveCertificate } from './certificate.js';
import { Secret } from '../secret.js';
import type { MoveRecord } from './record/move-record.js';

const SECRET = new Secret('s'.repeat(32));
const column = { name: 'tenant_id', type: 'text', generated: false };
const table = { columns: [column], key: column, id: ['id'], format: 'binary' } as const;

const MOVE: MoveRecord = {
  id: '5d0f0f4e-2f5e-4f52-9a8e-4b8c3d2e1f00',
  state: 'verified',
  epoch: '2',
  source: 'shard0',
  destination: 'shard1',
  group: 0,
  scope: { keys: ['acme', 'ünï"code'] },
  terms: {
    keyColumn: 'tenant_id',
    keyKind: 'text',
    writes: 'fenced',
    fenceMs: 30_000,
    throttle: null,
    kept: [],
  },
  tables: [
    { ...table, schema: 'public', name: 'bookmarks' },
    { ...table, schema: 'public', name: 'tags' },
  ],
  proof: {
    seeds: ['111', '222'],
    tables: [
      { table: 'public.bookmarks', rows: '100', sums: ['-9', '7'] },
      { table: 'public.tags', rows: '0', sums: ['0', '0'] },
    ],
  },
  steps: [
    { state: 'copied', at: '2026-01-01T00:00:00.000Z', ms: 400 },
    { state: 'fenced', at: '2026-01-01T00:00:01.000Z', ms: 250 },
    { state: 'verified', at: '2026-01-01T00:00:02.000Z', ms: 1250 },
  ],
  startedBy: 'ann',
  startedAt: new Date('2026-01-01T00:00:00Z'),
  changedAt: new Date('2026-01-01T00:00:02Z'),
  leasedUntil: undefined,
};

describe('a certificate', () => {
  it('says what was moved, and neither seeds nor who holds it', () => {
    const { signature, ...rest } = moveCertificate(MOVE, SECRET);
    expect(rest).toEqual({
      format: 'nestjs-sharding.move-certificate.v1',
      move: MOVE.id,
      state: 'verified',
      epoch: '2',
      source: 'shard0',
      destination: 'shard1',
      group: 0,
      keys: ['acme', 'ünï"code'],
      slots: null,
      kept_keys: [],
      key_column: 'tenant_id',
      key_kind: 'text',
      tables: [
        { table: 'public.bookmarks', rows: '100', fingerprint: ['-9', '7'] },
        { table: 'public.tags', rows: '0', fingerprint: ['0', '0'] },
      ],
      steps: MOVE.steps,
      write_pause: { from: '2026-01-01T00:00:00.750Z', until: '2026-01-01T00:00:31.000Z', ms: 30_250 },
      started_by: 'ann',
      started_at: '2026-01-01T00:00:00.000Z',
    });
    const text = canonicalJson(rest);
    expect(signature).toBe(createHmac('sha256', 's'.repeat(32)).update(text).digest('hex'));
  });

  it('names slots in short, the keys that stayed, and no content before there is a proof', () => {
    const slots = { ...MOVE, scope: { slots: [7695, 8192, 8193] }, steps: [], proof: undefined };
    const terms = { ...MOVE.terms, kept: ['globex'] };
    expect(moveCertificate({ ...slots, terms }, undefined)).toMatchObject({
      keys: null,
      slots: '7695, 8192-8193',
      kept_keys: ['globex'],
      tables: [
        { table: 'public.bookmarks', rows: null, fingerprint: null },
        { table: 'public.tags', rows: null, fingerprint: null },
      ],
      write_pause: null,
      signature: null,
    });
  });

  it('ends the pause of writes with the purge, where that came before the fence lifted itself', () => {
    const pause = (at: string) =>
      moveCertificate({ ...MOVE, steps: [...MOVE.steps, { state: 'purged', at, ms: 5 }] }, undefined)
        .write_pause?.until;
    expect(pause('2026-01-01T00:00:05.000Z')).toBe('2026-01-01T00:00:05.000Z');
    expect(pause('2026-01-01T01:00:00.000Z')).toBe('2026-01-01T00:00:31.000Z');
  });
});

describe('its check', () => {
  const text = JSON.stringify(moveCertificate(MOVE, SECRET), null, 2);
  const check = (changed: string, secret = SECRET) => checkCertificate(changed, secret).verdict;

  it('knows what was signed, however it is laid out', () => {
    const reordered = Object.fromEntries(
      Object.entries(JSON.parse(text) as Record<string, unknown>).toReversed(),
    );
    expect([check(text), check(JSON.stringify(reordered))]).toEqual(['genuine', 'genuine']);
  });

  it.each([
    ['a count', text.replace('"100"', '"101"')],
    ['a key', text.replace('acme', 'acne')],
    ['a fingerprint', text.replace('"-9"', '"9"')],
    ['a state', text.replace('"state": "verified"', '"state": "purged"')],
    ['something that is added', text.replace('{', '{"more": 1,')],
    ['an empty signature', text.replace(/"signature": "\w+"/, '"signature": ""')],
    ['the end of the signature', text.replace(/\w{2}"\s*}$/, '"}')],
  ])('sees %s that was changed', (_what, changed) => {
    expect(changed).not.toBe(text);
    expect(check(changed)).toBe('not_genuine');
  });

  it('knows the secret', () => {
    expect(check(text, new Secret('t'.repeat(32)))).toBe('not_genuine');
  });

  it('takes an unsigned one for unsigned, and refuses what is none', () => {
    expect(check(text.replace(/"signature": "\w+"/, '"signature": null'))).toBe('unsigned');
    for (const none of ['', '[]', 'null', '{}', '{"format":"x","signature":null}', text.slice(1)]) {
      expect(() => check(none)).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    }
  });
});

it('canonical JSON sorts names at every depth and keeps the order of lists', () => {
  expect(canonicalJson({ b: [{ d: 1, c: null }, 'x'], a: { é: 'ü', z: true } })).toBe(
    '{"a":{"z":true,"é":"ü"},"b":[{"c":null,"d":1},"x"]}',
  );
});
