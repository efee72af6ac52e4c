import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { ShardingError } from '@app/routing';
import { oneLine, printable } from '../output/printable.js';
import { UsageError, type Report, type Session, type Verb } from '../verb.js';
import { withMovesOf } from './move-run.js';

const HOW_TO_SIGN =
  'set [database] move_certificate_secret, or SHARDING_DATABASE__MOVE_CERTIFICATE_SECRET, to 32 bytes or more';

export const certificate: Verb<{ readonly verify?: string }> = {
  name: 'certificate',
  group: 'moving',
  usage: '[id]',
  summary: 'what a move has done, signed; --verify checks one',
  description:
    'JSON with and without --json: tables, counts, fingerprints, states with their times, the longest pause of writes, and whose ' +
    'rows; no content. Signed with HMAC-SHA256 of move_certificate_secret over everything else as canonical JSON (names sorted, ' +
    'no spaces). Exit code 1 when a certificate that is checked is not genuine, or not signed.',
  options: () => [new Option('--verify <file>', 'whether this one was signed with the secret, unchanged')],
  examples: [
    ['certificate 5d0f0f4e > acme.json', 'for the files'],
    ['certificate --verify acme.json', 'later'],
  ],
  async run({ args: [id], options: { verify } }, session) {
    if ((id === undefined) === (verify === undefined)) {
      throw new UsageError('certificate takes either the id of a move or --verify FILE');
    }
    return verify === undefined ? written(id ?? '', session) : checked(verify, session);
  },
};

async function written(id: string, session: Session): Promise<Report> {
  const { signal } = session;
  const found = await withMovesOf(session, (moves) => moves.certificate(id, { signal }));
  return {
    json: found,
    text: () => JSON.stringify(found, null, 2),
    notes: found.signature === null ? [`not signed: ${HOW_TO_SIGN}`] : [],
  };
}

const SAID = {
  genuine: 'genuine: it was signed with the secret of this configuration, and nothing in it was changed',
  unsigned: 'NOT SIGNED: anybody can have written it',
  not_genuine: 'NOT GENUINE: it was changed, or signed with another secret',
} as const;

async function checked(file: string, session: Session): Promise<Report> {
  const { moveCertificateSecret: secret } = await session.settings();
  if (secret === undefined) {
    throw new ShardingError('invalid_options', `nothing to check it with: ${HOW_TO_SIGN}`);
  }
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`--verify: ${oneLine(file)} cannot be read${codeText(cause)}`);
  });
  const { checkCertificate } = await import('@app/sharding/operator');
  const { verdict, certificate: found } = checkCertificate(text, secret);
  const { move, state, source, destination } = found;
  const about = printable(`move ${move}, ${state}, from ${source} to ${destination}`);
  return {
    json: { verdict, move, state, source, destination },
    text: (style) => {
      const said = `${SAID[verdict]}\n${about}`;
      return verdict === 'genuine' ? said : style.bad(said);
    },
    outcome: verdict === 'genuine' ? 'ok' : 'failed',
  };
}

function codeText(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
}
