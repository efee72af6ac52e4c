import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CausalContexts } from '../../shards/reads/causal-marks.js';
import { Secret } from '../../secret.js';
import { carrySession, SESSION_COOKIE, SESSION_HEADER } from './session-response.js';
import { SessionTokens } from './session-token.js';
import { Sessions } from './sessions.js';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CausalMarks } from '../../shards/reads/causal-marks.js';
import type { SessionPlace } from './sessions.js';

type Handler = (response: ServerResponse, marks: CausalMarks) => void;

const place = (name: string): SessionPlace => ({
  name,
  primary: {},
  replica: { wal: { current: async () => 7n }, hasReplayed: () => false },
});
const [first, second] = [place('first'), place('second')] as const;
const tokens = new SessionTokens(new Secret('a secret of thirty-two bytes ...'));
const sessions = new Sessions(tokens, [first, second]);
const token = (name: string, position: bigint) => tokens.write([{ name, position }]) ?? '';

let server: Server;
let handler: Handler;
let request: Partial<IncomingMessage> & { protocol?: string };

beforeAll(async () => {
  server = createServer((incoming, response) => {
    const marks = new CausalContexts().request();
    carrySession(sessions, { request: Object.assign(incoming, request), response, marks });
    handler(response, marks);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => void (request = {}));

/** Heads of the answer, in order, as `name: value`. */
async function heads(work: Handler, ...lines: string[]): Promise<string[]> {
  handler = work;
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(['GET / HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n'));
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer.split('\r\n\r\n')[0]!.split('\r\n').slice(1);
}
const write = (marks: CausalMarks) => marks.of(first.primary).wrote();
const cookies = async (work: Handler, ...lines: string[]) =>
  (await heads(work, ...lines)).flatMap((line) => /^set-cookie: ([^=]+)/i.exec(line)?.[1] ?? []);
const passedOn = async (...lines: string[]) => {
  const all = await heads((response) => response.end(), ...lines);
  const line = all.find((head) => head.startsWith(SESSION_HEADER)) ?? '';
  return tokens.read(line.slice(SESSION_HEADER.length + 2));
};

describe('the cookie', () => {
  it.each<[string, string[], (response: ServerResponse) => void]>([
    ['alone', [], (response) => response.end()],
    ['beside one set before', ['a'], (response) => response.setHeader('set-cookie', 'a=1').end()],
    ['beside several', ['a', 'b'], (response) => response.setHeader('Set-Cookie', ['a=1', 'b=2']).end()],
    [
      'beside one given with the head',
      ['a'],
      (response) => response.writeHead(200, { 'Set-Cookie': 'a=1' }).end(),
    ],
    ['with a reason', ['a'], (response) => response.writeHead(200, 'fine', { 'set-cookie': ['a=1'] }).end()],
    [
      'as a list',
      ['a', 'b'],
      (response) => response.writeHead(200, ['Set-Cookie', 'a=1', 'set-cookie', 'b=2']).end(),
    ],
    ['as a list without any', [], (response) => response.writeHead(200, ['x', 'set-cookie']).end()],
    [
      'as a list, with headers before',
      ['a'],
      (response) => {
        response.setHeader('set-cookie', 'a=1').writeHead(200, ['x', 'y']).end();
      },
    ],
    [
      'with headers before and with the head',
      ['a'],
      (response) => {
        response.setHeader('set-cookie', 'a=1').writeHead(200, { x: 'y' }).end();
      },
    ],
    [
      'of a flushed head',
      ['a'],
      (response) => {
        response.setHeader('set-cookie', 'a=1').flushHeaders();
        response.end();
      },
    ],
    ['once', [], (response) => response.writeHead(200).writeHead(200).end()],
  ])('is added: %s', async (what, others, answer) => {
    const work: Handler = (response, marks) => {
      write(marks);
      try {
        answer(response);
      } catch {
        response.end(); // a second head is refused by Node
      }
    };
    expect([what, await cookies(work)]).toEqual([what, [...others, SESSION_COOKIE]]);
  });

  it('is Secure over TLS, as the framework knows it, not as a client says', async () => {
    const secure = async (...lines: string[]) =>
      (
        await heads(
          (response, marks) => {
            write(marks);
            response.end();
          },
          ...lines,
        )
      ).some((line) => line.endsWith('; Secure'));
    expect(await secure('x-forwarded-proto: https')).toBe(false);
    request = { protocol: 'https' };
    expect(await secure()).toBe(true);
    request = { protocol: 'http' };
    expect(await secure()).toBe(false);
  });

  it('is not set by who has written nothing', async () => {
    const line = `cookie: ${SESSION_COOKIE}=${token('first', 3n)}`;
    expect(await cookies((response) => response.end(), line)).toEqual([]);
  });
});

describe('a request', () => {
  const [a, b] = [token('first', 3n), token('second', 4n)];

  it('is taken by all its tokens, wherever they are', async () => {
    const both = [
      { name: 'first', position: 3n },
      { name: 'second', position: 4n },
    ];
    expect(await passedOn(`X-Sharding-Session: ${a}`, `x-sharding-session: ${b}`)).toEqual(both);
    expect(await passedOn(`${SESSION_HEADER}: ${a}`, `cookie: ${SESSION_COOKIE}=${b}`)).toEqual(both);
    expect(await passedOn(`cookie: x=1;${SESSION_COOKIE}=${a}; ${SESSION_COOKIE}=${b};y`)).toEqual(both);
  });

  it('is not taken by others, nor by more than a few', async () => {
    const others = [
      `x-${SESSION_COOKIE}=${a}`,
      `${SESSION_COOKIE}2=${a}`,
      `y=${SESSION_COOKIE}=${a}`,
      SESSION_COOKIE,
    ];
    expect(await passedOn(`cookie: ${others.join('; ')}`)).toBeUndefined();
    const many = Array.from({ length: 8 }, () => `${SESSION_HEADER}: nonsense`);
    expect(await passedOn(...many, `${SESSION_HEADER}: ${a}`)).toBeUndefined();
  });
});
