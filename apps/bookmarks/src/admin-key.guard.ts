import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';

/** Requests that have shown the key. */
const admins = new WeakSet<object>();

/** Whether the handler runs for somebody who has shown the key. */
export function isAdmin(context: ExecutionContext | undefined): boolean {
  return context !== undefined && admins.has(context.switchToHttp().getRequest<object>());
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Lets those in whose `x-api-key` is `BOOKMARKS_ADMIN_KEY`; nobody where that is not set. */
@Injectable()
export class AdminKeyGuard implements CanActivate {
  /** @throws UnauthorizedException without the right key */
  canActivate(context: ExecutionContext): true {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, unknown> }>();
    const expected = process.env['BOOKMARKS_ADMIN_KEY'] ?? '';
    const given = request.headers['x-api-key'];
    const same = typeof given === 'string' && timingSafeEqual(digest(given), digest(expected));
    if (!same || expected === '') throw new UnauthorizedException('the header x-api-key is missing or wrong');
    admins.add(request);
    return true;
  }
}
