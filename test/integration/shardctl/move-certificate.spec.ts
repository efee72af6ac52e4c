import { beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Shardctl } from '../../support/shardctl.js';
import { ACME, CERTIFICATE_SECRET, MoveFleet, steady } from './move-fleet.js';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

const shardctl = Shardctl.attach();
const SECRET = `move_certificate_secret = "${CERTIFICATE_SECRET}"`;
let at: MoveFleet;
beforeAll(async () => {
  at = await MoveFleet.create(SECRET);
});
beforeEach(() => at.fill({ [ACME]: 3 }));

it('is signed, and checked', async () => {
  const { id } = await at.move({ keys: [ACME] });
  const { code, out, err } = await at.run('certificate', id.slice(0, 8));
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toMatchObject({
    move: id,
    keys: [ACME],
    signature: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect((await at.run('certificate', id, '--json')).out).toBe(out);
  expect(out).not.toContain('hush');
  const cwd = await shardctl.workingDirectory(at.toml);
  await writeFile(join(cwd, 'good.json'), out);
  await writeFile(join(cwd, 'bad.json'), out.replace('"rows": "3"', '"rows": "4"'));
  await writeFile(join(cwd, 'unsigned.json'), out.replace(/"signature": "\w+"/, '"signature": null'));
  await writeFile(join(cwd, 'none.json'), '{}');
  const check = async (file: string, ...flags: string[]) => {
    const end = await at.runAs({ cwd }, 'certificate', '--verify', file, ...flags);
    return { ...end, out: steady(end.out), err: end.err };
  };
  const about = 'move UUID, verified, from shard0 to shard1';
  expect(await check('good.json')).toEqual({
    code: 0,
    out: [
      'genuine: it was signed with the secret of this configuration, and nothing in it was changed',
      about,
    ],
    err: '',
  });
  expect(await check('bad.json')).toEqual({
    code: 1,
    out: ['NOT GENUINE: it was changed, or signed with another secret', about],
    err: '',
  });
  expect(JSON.parse((await check('unsigned.json', '--json')).out.join(''))).toEqual({
    verdict: 'unsigned',
    move: 'UUID',
    state: 'verified',
    source: 'shard0',
    destination: 'shard1',
  });
  expect(await check('none.json')).toEqual({
    code: 1,
    out: [''],
    err: 'shardctl: this is no certificate of a move: "certificate ID" writes one\n',
  });
  expect(await check('missing.json')).toEqual({
    code: 2,
    out: [''],
    err: 'shardctl: --verify: missing.json cannot be read (ENOENT) (see shardctl --help)\n',
  });
});

it('says that it is not signed, and how to sign', async () => {
  const { id } = await at.move({ keys: [ACME] });
  const toml = at.toml.replace(SECRET, '');
  const how =
    'set [database] move_certificate_secret, or SHARDING_DATABASE__MOVE_CERTIFICATE_SECRET, to 32 bytes or more';
  const { code, out, err } = await at.runAs({ toml }, 'certificate', id);
  expect({ code, err }).toEqual({ code: 0, err: `shardctl: not signed: ${how}\n` });
  expect(JSON.parse(out)).toMatchObject({ move: id, signature: null });
  expect(await at.runAs({ toml }, 'certificate', '--verify', 'x.json')).toEqual({
    code: 1,
    out: '',
    err: `shardctl: nothing to check it with: ${how}\n`,
  });
  expect((await at.runAs({ toml }, 'certificate')).err).toBe(
    'shardctl: certificate takes either the id of a move or --verify FILE (see shardctl --help)\n',
  );
});
