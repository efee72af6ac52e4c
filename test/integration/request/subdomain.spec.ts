import { afterEach, describe, expect, it } from '@jest/globals';
import { bootApp, listen } from '../../support/deployment.js';
import { sendRaw } from './raw-request.js';
import { WhoController } from './tenant-app.js';
import type { NestExpressApplication } from '@nestjs/platform-express';

let app: NestExpressApplication;
let url: string;

afterEach(() => app.close());

async function boot(baseDomain?: string): Promise<void> {
  const tenancy = { source: 'subdomain' as const, ...(baseDomain !== undefined && { baseDomain }) };
  const database = { url: 'postgres://127.0.0.1:1/none' };
  app = (await bootApp(
    { database, tenancy, health: false },
    { controllers: [WhoController] },
  )) as NestExpressApplication;
  url = await listen(app);
}

const ask = (...headers: string[]) => sendRaw(url, ['GET /who HTTP/1.1', ...headers]);
const tenant = (name: string) => ({ status: 200, body: { tenant: name } });
const refused = (code: string, message: string) => ({
  status: 400,
  body: { statusCode: 400, code, message },
});
const MISSING = refused('no_routing_key', 'the host of the request names no tenant: call <tenant>.<domain>');
const invalid = (rule: string) => refused('invalid_tenant', `the tenant of the request ${rule}`);

describe('the Host header', () => {
  it('names the tenant below the base domain', async () => {
    await boot('Example.com');
    expect(await ask('Host: ACME.example.COM:3000')).toEqual(tenant('acme'));
    expect(await ask('Host: acme.example.com.')).toEqual(tenant('acme'));
    expect(await ask('Host: x.acme.example.com')).toEqual(tenant('x'));
    for (const host of ['example.com', 'badexample.com', 'acme.example.org', 'localhost']) {
      expect(await ask(`Host: ${host}`)).toEqual(MISSING);
    }
  });

  it('names the tenant of any domain without a base domain', async () => {
    await boot();
    expect(await ask('Host: acme.example.com')).toEqual(tenant('acme'));
    expect(await ask('Host: acme.localhost:3000')).toEqual(tenant('acme'));
    for (const host of ['example.com', 'localhost:3000', ''])
      expect(await ask(`Host: ${host}`)).toEqual(MISSING);
  });

  it('may not be an address or malformed', async () => {
    await boot();
    for (const host of ['127.0.0.1:3000', '[::1]:3000', '10.1.2.3']) {
      expect(await ask(`Host: ${host}`)).toEqual(invalid('cannot be read from an IP address as host'));
    }
    for (const host of ['münchen.example.com', 'a..example.com', 'a@b.example.com']) {
      expect(await ask(`Host: ${host}`)).toEqual(invalid('cannot be read from a malformed host'));
    }
  });

  it('must be there once', async () => {
    await boot();
    expect(await sendRaw(url, ['GET /who HTTP/1.0'])).toEqual(MISSING);
    const twice = ['Host: acme.example.com', 'Host: globex.example.com'];
    expect(await sendRaw(url, ['GET /who HTTP/1.0', ...twice])).toEqual(
      invalid('must be named by one Host header'),
    );
    expect((await ask(...twice)).status).toBe(400);
  });

  it('counts, and no other header, unless the application trusts its proxies', async () => {
    await boot('example.com');
    const headers = ['Host: acme.example.com', 'X-Forwarded-Host: globex.example.com', 'X-Tenant-Id: globex'];
    expect(await ask(...headers)).toEqual(tenant('acme'));
    app.set('trust proxy', true);
    expect(await ask(...headers)).toEqual(tenant('globex'));
  });
});
