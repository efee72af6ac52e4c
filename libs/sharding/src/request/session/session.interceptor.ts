import { catchError, concatMap, from, map, of, throwError } from 'rxjs';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { Observable } from 'rxjs';
import type { RoutingContext } from '../routing-context.js';
import type { Sessions } from './sessions.js';

/**
 * Asks for the positions of what a handler has written before its response is, also where it throws. There only with
 * `read_your_writes = "session"`.
 */
export class SessionInterceptor implements NestInterceptor {
  constructor(
    private readonly context: RoutingContext,
    private readonly sessions: Sessions,
  ) {}

  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (execution.getType() !== 'http') return next.handle();
    const http = execution.switchToHttp();
    const request = http.getRequest<object>();
    const settle = () => this.#settle(request, http.getResponse());
    return this.context
      .runRequest(request, () => next.handle()) // again, where a library has lost the context
      .pipe(
        concatMap((value: unknown) => {
          const settled = settle();
          return settled ? from(settled).pipe(map(() => value)) : of(value);
        }),
        catchError((error: unknown) => {
          const settled = settle();
          const failed = throwError(() => error);
          return settled ? from(settled).pipe(concatMap(() => failed)) : failed;
        }),
      );
  }

  /** Too late once the head is written. */
  #settle(request: object, response: Reply): Promise<void> | undefined {
    const { headersSent } = response.raw ?? response;
    return headersSent ? undefined : this.sessions.settle(this.context.marksOf(request));
  }
}

/** Node's response, perhaps below one of Fastify. */
type Reply = ServerResponse & { readonly raw?: ServerResponse };
