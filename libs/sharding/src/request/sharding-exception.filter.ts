import { Catch, Inject, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ShardingError } from '@app/routing';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';

/** Maps the code of a {@link ShardingError} to its status; the body is `{ statusCode, code, message }`. */
@Catch(ShardingError)
export class ShardingExceptionFilter implements ExceptionFilter<ShardingError> {
  private readonly logger = new Logger(ShardingExceptionFilter.name);

  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(error: ShardingError, host: ArgumentsHost): void {
    if (host.getType() !== 'http') throw error;
    if (error.status === 500) this.logger.error(error); // a mistake of the server; its cause is printed by name only
    const { httpAdapter } = this.host;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) return httpAdapter.end(response);
    const { status: statusCode, code, message } = error;
    httpAdapter.reply(response, { statusCode, code, message }, statusCode);
  }
}
