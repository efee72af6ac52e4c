import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { clientConfig, databaseIdentity } from './database-url.js';
import { Secret } from './secret.js';

const config = (url: string) => clientConfig(new Secret(url));

describe('the connection facts of a URL', () => {
  it('have the password behind a function, so that printing never shows it', async () => {
    const { password, ...rest } = config('postgres://app:hunt%20er2@db:6000/main?application_name=x');
    expect(rest).toEqual({ user: 'app', host: 'db', port: 6000, database: 'main', application_name: 'x' });
    expect(await (password as () => Promise<string> | string)()).toBe('hunt er2');
    const whole = config('postgres://app:hunter2@db/main');
    expect(inspect(whole, { showHidden: true }) + JSON.stringify(whole)).not.toContain('hunter2');
  });

  it('have no password where the URL has none', () => {
    expect(config('postgres://app@db/main')).not.toHaveProperty('password');
  });
});

describe('the identity of a database', () => {
  it.each([
    ['postgres://db/main', 'db:5432/main'],
    ['postgresql://u:p@DB.:6000/Main', 'db:6000/Main'],
    ['postgres://127.0.0.1/main', 'localhost:5432/main'],
    ['postgres:///main', 'localhost:5432/main'],
    ['postgres://app@db', 'db:5432/app'],
  ])('of %s is %s', (url, identity) => expect(databaseIdentity(new Secret(url))).toBe(identity));

  it('is refused without showing the text', () => {
    const work = () => databaseIdentity(new Secret('postgres://u:hunter2@h:port/x'));
    expect(work).toThrow(new TypeError('cannot be parsed as a PostgreSQL URL'));
  });
});
