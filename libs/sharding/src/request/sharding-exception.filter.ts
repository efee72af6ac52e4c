import { Catch, Inject, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import { ShardingError } from '@app/routing';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { ShardingErrorCode } from '@app/routing';

/** A key that moves is refused for about as long; by then the route is a new one. So it is for a request under way. */
const RETRY_AFTER_S = '1';
const RETRY_SOON: ReadonlySet<ShardingErrorCode> = new Set(['shard_moved', 'idempotency_in_progress']);

/**
 * Maps the code of a {@link ShardingError} to its status; the body is `{ statusCode, code, message }`. The caller of a
 * microservice's handler gets the same with `status: 'error'`, as Nest does it. Nothing of the cause is in either.
 */
@Catch(ShardingError)
export class ShardingExceptionFilter implements ExceptionFilter<ShardingError> {
  private readonly logger = new Logger(ShardingExceptionFilter.name);

  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(error: ShardingError, host: ArgumentsHost): Observable<never> | void {
    const type = host.getType();
    if (type !== 'http' && type !== 'rpc') throw error;
    const { status: statusCode, code, message } = error;
    if (statusCode === 500) this.logger.error(error); // a mistake of the server; its cause is printed by name only
    if (type === 'rpc') return throwError(() => ({ status: 'error', statusCode, code, message }));
    const { httpAdapter } = this.host;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return httpAdapter.end(response);
    if (RETRY_SOON.has(code)) httpAdapter.setHeader(response, 'Retry-After', RETRY_AFTER_S);
    httpAdapter.reply(response, { statusCode, code, message }, statusCode);
  }
}
