import { headerValues } from '../http-request.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CausalMarks } from '../../shards/reads/causal-marks.js';
import type { Sessions } from './sessions.js';

/** The response header that carries a session on; the same as request header. */
export const SESSION_HEADER = 'x-sharding-session';
/** The cookie that does so for browsers. */
export const SESSION_COOKIE = 'x-sharding-session';

/** One request and what it has read and written. */
export interface SessionExchange {
  readonly request: object;
  readonly response: ServerResponse;
  readonly marks: CausalMarks;
}

/**
 * Lets a request see what the tokens it brings tell, all of them, and puts a token on its response. That happens
 * wherever the head is written, on errors and streams too: what nobody has asked the position of by then is marked as
 * unknown, and the next request's read asks the primary.
 */
export function carrySession(sessions: Sessions, { request, response, marks }: SessionExchange): void {
  sessions.admit(marks, tokensOf(request));
  beforeHead(response, (given) => {
    const token = sessions.token(marks);
    if (token === undefined) return given;
    // The answer of a request that only read must not undo what a concurrent one has set.
    const cookie = marks.dirty ? cookieOf(token, request) : undefined;
    return withHeaders(response, given, { token, cookie });
  });
}

/** Header first, then cookies. */
function tokensOf(request: object): string[] {
  const inHeaders = headerValues(request, SESSION_HEADER);
  const inCookies = headerValues(request, 'cookie').flatMap(cookieValues);
  return [...inHeaders, ...inCookies];
}

function cookieValues(header: string): string[] {
  if (!header.includes(SESSION_COOKIE)) return [];
  return header.split(';').flatMap((pair) => {
    const [name, value] = pair.split('=', 2);
    return name?.trim() === SESSION_COOKIE && value !== undefined ? [value.trim()] : [];
  });
}

/**
 * `Secure` where the request came over TLS as far as the framework knows: `x-forwarded-proto` counts where it trusts the
 * proxy (`trust proxy`, `trustProxy`), not because a client has sent it.
 */
function cookieOf(token: string, request: object): string {
  const { protocol, socket } = request as Partial<IncomingMessage> & { protocol?: unknown };
  const secure = protocol === 'https' || (socket as { encrypted?: boolean } | undefined)?.encrypted === true;
  return `${SESSION_COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
}

/** What was given to `writeHead` behind the status. */
type HeadParts = readonly unknown[];

/** Calls `change` once, before the head is written by whatever way; gives what to write instead. */
function beforeHead(response: ServerResponse, change: (given: HeadParts) => HeadParts): void {
  const writeHead = response.writeHead as (status: number, ...rest: HeadParts) => ServerResponse;
  let done = false;
  response.writeHead = ((status: number, ...rest: HeadParts) => {
    if (done) return writeHead.call(response, status, ...rest);
    done = true;
    return writeHead.call(response, status, ...change(rest));
  }) as ServerResponse['writeHead'];
}

interface Added {
  readonly token: string;
  readonly cookie: string | undefined;
}

/** Adds to the headers that are set and to those given to `writeHead`, which would replace cookies that are set. */
function withHeaders(response: ServerResponse, given: HeadParts, { token, cookie }: Added): HeadParts {
  const list = given.find((part) => Array.isArray(part)) as unknown[] | undefined;
  if (list) return given.map((part) => (part === list ? listWith(response, list, { token, cookie }) : part));
  response.setHeader(SESSION_HEADER, token);
  if (cookie === undefined) return given;
  const headers = given.find((part) => typeof part === 'object' && part !== null);
  const [name, value] = Object.entries(headers ?? {}).find(([key]) => isSetCookie(key)) ?? [];
  if (name !== undefined) {
    return given.map((part) => (part === headers ? { ...headers, [name]: [value, cookie].flat() } : part));
  }
  response.appendHeader('set-cookie', cookie);
  return given;
}

/** Names and values in turn, or pairs of them. All cookies in one place: Node may let a second one replace the first. */
function listWith(response: ServerResponse, list: readonly unknown[], { token, cookie }: Added): unknown[] {
  const inPairs = Array.isArray(list[0]);
  const pairs = inPairs ? (list as unknown[][]) : pairsOf(list);
  const given = pairs.filter(([name]) => isSetCookie(name)).flatMap(([, value]) => value);
  const cookies = given.length > 0 ? given : [response.getHeader('set-cookie') ?? []].flat();
  const all = cookie === undefined ? given : [...cookies, cookie];
  const others = pairs.filter(([name]) => !isSetCookie(name));
  const added = [...others, [SESSION_HEADER, token], ...(all.length > 0 ? [['set-cookie', all]] : [])];
  return inPairs ? added : added.flatMap(([name, value]) => [name, value]);
}

function pairsOf(list: readonly unknown[]): unknown[][] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1]]] : []));
}

function isSetCookie(name: unknown): boolean {
  return typeof name === 'string' && name.toLowerCase() === 'set-cookie';
}
