import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * nginx.conf in a real nginx on free loopback ports, before two web services that tell what they were asked.
 * Usage: node docker/check-nginx.mjs /usr/sbin/nginx. Leaves no process and no file behind.
 */

const NGINX = process.argv[2] ?? 'nginx';
const DEADLINE_MS = 10_000;
const directory = mkdtempSync(join(tmpdir(), 'check-nginx-'));
const log = join(directory, 'output.log');
const say = (text) => process.stdout.write(`docker check: ${text}\n`);

/** A web service; `/break` closes the connection without an answer, `/503` is an answer like any other. */
async function startWeb(name) {
  const seen = [];
  const server = createServer((incoming, response) => {
    const { method, url, headers, rawHeaders } = incoming;
    seen.push(`${method} ${url}`);
    if (url === '/break') return incoming.socket.destroy();
    response.writeHead(url === '/503' ? 503 : 200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ name, headers, rawHeaders }));
  });
  const port = await listen(server);
  return { name, port, seen, server };
}

async function listen(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

async function freePort() {
  const server = createServer();
  const port = await listen(server);
  await new Promise((done) => server.close(done));
  return port;
}

/** The configuration as it is, but for what only a container has: the two names, the port, `/tmp` for itself. */
function configure(webs, port) {
  const places = [
    ['server web-a:3000', `server 127.0.0.1:${webs[0].port}`],
    ['server web-b:3000', `server 127.0.0.1:${webs[1].port}`],
    ['listen 3000;', `listen 127.0.0.1:${port};`],
  ];
  let text = readFileSync(new URL('nginx/nginx.conf', import.meta.url), 'utf8');
  for (const [original, local] of places) {
    assert.equal(text.split(original).length, 2, `nginx.conf should have "${original}" once`);
    text = text.replace(original, local);
  }
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, text.replaceAll('/tmp/', `${directory}/`));
  return file;
}

/** Output goes to a file: nginx opens /dev/stdout by name, and a socket cannot be opened so. */
function nginxArguments(file, ...more) {
  const output = openSync(log, 'a');
  return [
    NGINX,
    ['-p', directory, '-c', file, '-e', 'stderr', ...more],
    { stdio: ['ignore', output, output] },
  ];
}

function ask(port, path, { method = 'GET', headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode, body }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function answers(port) {
  const names = [];
  for (let index = 0; index < 8; index += 1) names.push(JSON.parse((await ask(port, '/')).body).name);
  return names;
}

const CHECKS = {
  async 'requests take turns'(port) {
    const names = await answers(port);
    for (const [index, name] of names.entries()) assert.notEqual(name, names[index + 1], names.join(' '));
  },
  async 'x-tenant-id passes byte for byte, also twice; X_Tenant_Id does not pass'(port) {
    const tenant = Buffer.from('Zürich 東京').toString('latin1'); // UTF-8 bytes, as Node writes and reads headers
    const { body } = await ask(port, '/', { headers: { 'x-tenant-id': tenant, X_Tenant_Id: 'mallory' } });
    assert.equal(JSON.parse(body).headers['x-tenant-id'], tenant);
    assert.ok(!body.includes('mallory'));
    const twice = await ask(port, '/', { headers: { 'x-tenant-id': ['acme', 'globex'] } });
    const { rawHeaders } = JSON.parse(twice.body);
    assert.deepEqual(
      rawHeaders.filter((_text, index) => rawHeaders[index - 1]?.toLowerCase() === 'x-tenant-id'),
      ['acme', 'globex'],
    );
  },
  async 'Host passes, X-Forwarded-* are set here'(port) {
    const host = 'acme.example.com:3000';
    const { body } = await ask(port, '/', { headers: { host, 'x-forwarded-for': '203.0.113.9' } });
    const { headers } = JSON.parse(body);
    assert.equal(headers.host, host);
    assert.equal(headers['x-forwarded-host'], host);
    assert.equal(headers['x-forwarded-for'], '127.0.0.1');
    assert.equal(headers['x-forwarded-proto'], 'http');
  },
  async 'a 503 is passed on, not asked again'(port, webs) {
    assert.equal((await ask(port, '/503')).status, 503);
    assert.equal(count(webs, 'GET /503'), 1);
  },
  async 'a POST that broke off is not repeated, a GET is asked at the other one'(port, webs) {
    assert.equal((await ask(port, '/break', { method: 'POST' })).status, 502);
    assert.equal(count(webs, 'POST /break'), 1);
    assert.equal((await ask(port, '/break')).status, 502);
    assert.equal(count(webs, 'GET /break'), 2);
  },
  async 'with one service gone the other one answers'(port, webs) {
    const [gone, left] = webs;
    await close(gone.server);
    assert.deepEqual(new Set(await answers(port)), new Set([left.name]));
  },
};

function count(webs, wanted) {
  return webs.flatMap(({ seen }) => seen).filter((line) => line === wanted).length;
}

function close(server) {
  server.closeAllConnections();
  return new Promise((done) => server.close(done));
}

async function untilListening(port, nginx) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await ask(port, '/');
    } catch (error) {
      if (Date.now() > deadline || nginx.exitCode !== null) throw error;
      await pause(20);
    }
  }
}

async function run() {
  const webs = [await startWeb('a'), await startWeb('b')];
  const port = await freePort();
  const file = configure(webs, port);
  let nginx;
  try {
    assert.equal(spawnSync(...nginxArguments(file, '-t')).status, 0, 'nginx -t refuses nginx.conf');
    say(`nginx -t accepts nginx.conf (${spawnSync(NGINX, ['-v'], { encoding: 'utf8' }).stderr.trim()})`);
    nginx = spawn(...nginxArguments(file, '-g', 'daemon off;'));
    await untilListening(port, nginx);
    for (const [name, check] of Object.entries(CHECKS)) {
      await check(port, webs);
      say(name);
    }
    assert.match(readFileSync(log, 'utf8'), /"GET \/ HTTP\/1\.1" 200 .*upstream=127\.0\.0\.1/);
    say('requests are logged to standard output');
  } finally {
    if (nginx?.exitCode === null && nginx.kill('SIGTERM')) await once(nginx, 'exit');
    for (const { server } of webs) if (server.listening) await close(server);
  }
}

try {
  chmodSync(directory, 0o755); // nginx started by root drops to another user
  await run();
} catch (error) {
  say(`FAILED: ${error.message}`);
  say(readFileSync(log, { encoding: 'utf8', flag: 'a+' }));
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
