import { Catch, Inject, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import { ShardingError } from '@app/routing';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { Observable } from 'rxjs';

/** Maps the code of a {@link ShardingError} to its status; the body is `{ statusCode, code, message }`. */
@Catch(ShardingError)
export class ShardingExceptionFilter implements ExceptionFilter<ShardingError> {
  private readonly logger = new Logger(ShardingExceptionFilter.name);

  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(error: ShardingError, host: ArgumentsHost): Observable<never> | void {
    const type = host.getType();
    if (type === 'rpc')
      return throwError(() => ({ status: 'error', code: error.code, message: error.message }));
    if (type !== 'http') throw error;
    if (error.status === 500) this.logger.error(error); // a mistake of the server; its cause is printed by name only
    const { httpAdapter } = this.host;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return httpAdapter.end(response);
    const { status: statusCode, code, message } = error;
    httpAdapter.reply(response, { statusCode, code, message }, statusCode);
  }
}
