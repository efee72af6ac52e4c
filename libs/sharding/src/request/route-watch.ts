import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Fleet } from '../shards/fleet.js';
import { routedTo } from './routing-context.js';
import type { ServerResponse } from 'node:http';
import type { Telemetry } from '../shards/telemetry.js';

/** What is used of Express. */
interface ExpressRequest {
  readonly method: string;
  /** Set by the router where a route matched. */
  readonly route?: { readonly path?: unknown };
}

/** What is used of Fastify. */
interface FastifyRequest {
  readonly method: string;
  readonly raw: object;
  /** Without `url` where no route matched. */
  readonly routeOptions: { readonly url?: string };
}

interface FastifyInstance {
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequest, reply: { raw: ServerResponse }, done: () => void) => void,
  ): unknown;
}

interface Watched {
  readonly method: string;
  readonly request: object;
  readonly route: () => string | undefined;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The client went away before there was an answer, as nginx says it. */
const CLIENT_CLOSED = 499;

/** Tells the telemetry of each HTTP request that has ended, by the template of its route; never by its URL. */
@Injectable()
export class RouteWatch {
  readonly #telemetry: Telemetry;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Fleet) fleet: Fleet,
  ) {
    this.#telemetry = fleet.telemetry;
  }

  /** Before everything else on the way of a request; nothing where nobody observes requests. */
  mount(): void {
    if (!this.#telemetry.watchesRequests) return;
    const { httpAdapter } = this.host;
    if (httpAdapter.getType() === 'fastify') {
      const fastify = httpAdapter.getInstance<FastifyInstance>();
      fastify.addHook('onRequest', (request, reply, done) => {
        const { method } = request;
        this.watch(reply.raw, { method, request, route: () => request.routeOptions.url });
        done();
      });
      return;
    }
    httpAdapter.use((request: ExpressRequest, response: ServerResponse, next: () => void) => {
      const { method } = request;
      this.watch(response, { method, request, route: () => templateOf(request.route?.path) });
      next();
    });
    moveLastToFront(httpAdapter.getInstance());
  }

  private watch(response: ServerResponse, { method, request, route }: Watched): void {
    const startedAt = performance.now();
    response.once('close', () => {
      this.#telemetry.request({
        method: METHODS.has(method) ? method : 'other',
        route: route(),
        status: response.headersSent ? response.statusCode : CLIENT_CLOSED,
        shard: routedTo(request),
        ms: performance.now() - startedAt,
      });
    });
  }
}

/** A path of Express is a string or a pattern, or a list of them. */
function templateOf(path: unknown): string | undefined {
  if (Array.isArray(path)) return path.map(String).join('|');
  return path === undefined ? undefined : String(path);
}

/** The body parsers are there already; what they take, and refuse, belongs to the request. */
function moveLastToFront(express: { router?: { stack?: unknown[] } }): void {
  const stack = express.router?.stack;
  const last = stack?.pop();
  if (last !== undefined) stack?.unshift(last);
}
