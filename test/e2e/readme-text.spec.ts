import { expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { SHARDING_ERRORS } from '@app/sharding';

const readme = readFileSync('README.md', 'utf8');

it('the README lists every error code with its status', () => {
  const rows = [...readme.matchAll(/^\| `(\w+)` \| (\d{3}) \| (yes|no) \|/gm)].map(
    ([, code, status, retry]) => [code, Number(status), retry],
  );
  const table = Object.entries(SHARDING_ERRORS).map(([code, { status, retryable }]) => [
    code,
    status,
    retryable ? 'yes' : 'no',
  ]);
  expect(new Set(rows)).toEqual(new Set(table));
});

it('the README links only to files that exist, and to headings of its own', () => {
  const files = [...readme.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, file = '']) => file);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
  const anchors = new Set(
    [...readme.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
  const links = [...readme.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor);
  expect(links.filter((anchor) => !anchors.has(anchor))).toEqual([]);
});
