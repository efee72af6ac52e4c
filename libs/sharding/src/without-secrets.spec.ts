import { expect, it } from '@jest/globals';
import { withoutSecrets } from './without-secrets.js';

it.each([
  ['connect to postgres://app:hush@db/x failed', 'connect to [hidden] failed'],
  [`option '--url=postgres://a:hush@db' is`, `option '--url=[hidden]' is`],
  [`to "postgres://a:hu'sh"@db/x"`, 'to "[hidden]"'],
  ['http://one and https://two', '[hidden] and [hidden]'],
  ['host=db password=hush user=x', 'host=db [hidden] user=x'],
  [`connection 'host=db password=''hu sh'' user=x'`, `connection 'host=db [hidden] user=x'`],
  [`password = 'hu\\'s h' user=x`, '[hidden] user=x'],
  ['password="hu sh" user=x', '[hidden] user=x'],
  ['PGPASSWORD=hush sslpassword=hush', '[hidden] [hidden]'],
  [`create role app login password 'hu''s h' superuser`, 'create role app login [hidden] superuser'],
  ['the password was refused', 'the password was refused'],
  ['a: b // c', 'a: b // c'],
  ['must be a postgres:// URL', 'must be a postgres:// URL'],
])('%j is shown as %j', (text, shown) => expect(withoutSecrets(text)).toBe(shown));
