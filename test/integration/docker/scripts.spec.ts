import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { readComposeFile } from './compose-file.js';
import type { ComposeFile } from './compose-file.js';

const run = promisify(execFile);
const scripts = (readdirSync('docker', { recursive: true }) as string[])
  .filter((name) => name.endsWith('.sh'))
  .toSorted();

describe('the shell scripts', () => {
  it('are these', () => {
    expect(scripts).toEqual([
      'check-nginx.sh',
      'postgres/create-replication-role.sh',
      'postgres/replica-entrypoint.sh',
    ]);
  });

  it.each(scripts)('%s is accepted by bash, and executable', async (name) => {
    const file = join('docker', name);
    await expect(run('bash', ['-n', file])).resolves.toEqual({ stdout: '', stderr: '' });
    expect(() => accessSync(file, constants.X_OK)).not.toThrow();
  });

  it('of the servers are given every variable that they ask for', () => {
    const { services } = readComposeFile() as ComposeFile;
    const required = [
      ...readFileSync('docker/postgres/replica-entrypoint.sh', 'utf8').matchAll(/\$\{(\w+):\?/g),
    ].map(([, name]) => name!);
    expect(required.toSorted()).toEqual(['PGDATA', 'PRIMARY_HOST', 'REPLICATION_PASSWORD']);
    // PGDATA is the image's own
    const given = services['shard0-replica']!.environment!;
    expect(required.filter((name) => name !== 'PGDATA' && !(name in given))).toEqual([]);
    expect(Object.keys(services)).toContain(given['PRIMARY_HOST']);
  });

  it('stop the replica before anything is written when a variable is missing', async () => {
    const environment = { PATH: process.env['PATH'], PGDATA: '/nonexistent', PRIMARY_HOST: 'shard0' };
    await expect(
      run('bash', ['docker/postgres/replica-entrypoint.sh', 'postgres'], { env: environment }),
    ).rejects.toThrow('REPLICATION_PASSWORD: is not set');
  });
});
