import { expect, it } from '@jest/globals';
import { Secret } from '@app/sharding/config';
import { maskedUrl } from './resolved-configuration.js';

it.each([
  ['postgres://app:hush@db:6000/x', 'postgres://app:****@db:6000/x'],
  ['postgres://app@db/x', 'postgres://app@db:5432/x'],
  ['postgres://a%20b:hush@db/x%20y', 'postgres://a%20b:****@db:5432/x%20y'],
  [
    'postgres://app:hush@db/x?sslmode=disable&password=hush2',
    'postgres://app:****@db:5432/x?sslmode=disable',
  ],
  ['postgres://app@db/x?password=hush', 'postgres://app:****@db:5432/x'],
  ['postgres://app:hush@[::1]:5433/x', 'postgres://app:****@[::1]:5433/x'],
  ['postgres://db/x?user=app&options=-c%20a.secret%3Dhush', 'postgres://app@db:5432/x'],
])('%s is shown as %s', (url, shown) => expect(maskedUrl(new Secret(url))).toBe(shown));
