/**
 * Reads a history of acknowledged writes and says what became of them, as JSON: `lost` (on no shard, or with an older value),
 * `doubled` (on more than one), `revived` (deleted, and there again). It knows nothing of whoever wrote.
 */
import { readFile } from 'node:fs/promises';
import pg from 'pg';

const [file, ...urls] = process.argv.slice(2);
const history = (await readFile(file, 'utf8'))
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const found = new Map();
for (const url of urls) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('select name, version from entries');
  for (const { name, version } of rows) found.set(name, [...(found.get(name) ?? []), version]);
  await client.end();
}
const last = new Map(history.map((entry) => [entry.name, entry]));
const verdict = { acknowledged: history.length, lost: [], doubled: [], revived: [] };
for (const { name, version, act } of last.values()) {
  const versions = found.get(name) ?? [];
  if (versions.length > 1) verdict.doubled.push(name);
  else if (act === 'delete') {
    if (versions.length > 0) verdict.revived.push(name);
  } else if (versions[0] === undefined || versions[0] < version) verdict.lost.push(name);
}
process.stdout.write(JSON.stringify(verdict));
