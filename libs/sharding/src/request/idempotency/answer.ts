import { StreamableFile } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import type { ServerResponse } from 'node:http';

/** Node's response, perhaps below one of Fastify. */
type Reply = { statusCode: number } & Partial<ServerResponse> & { readonly raw?: ServerResponse };

/** What can be given again: the status of now, and the value as JSON. */
export interface Answer {
  readonly status: number;
  /** Null for an empty one. */
  readonly json: string | null;
}

/** @throws ShardingError `invalid_options` for what is no JSON, is too long, or was sent by the handler itself */
export function answerOf(value: unknown, response: object, maxBytes: number): Answer {
  const reply = response as Reply;
  if ((reply.raw ?? reply).headersSent === true) {
    throw refused('returns its answer: one that it sends itself is sent before its work is committed');
  }
  const json = isStream(value) ? undefined : jsonOf(value);
  if (json === undefined) throw refused('returns JSON: no file, stream or bytes');
  if (json !== null && Buffer.byteLength(json) > maxBytes) {
    throw refused(`returns up to ${maxBytes} bytes: raise maxAnswerBytes, or return less`);
  }
  return { status: reply.statusCode, json };
}

function jsonOf(value: unknown): string | null | undefined {
  if (value === undefined) return null;
  return JSON.stringify(value) as string | undefined;
}

function isStream(value: unknown): boolean {
  if (value instanceof StreamableFile || ArrayBuffer.isView(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  return (
    'pipe' in value || 'getReader' in value || (typeof Response === 'function' && value instanceof Response)
  );
}

function refused(what: string): ShardingError {
  return new ShardingError('invalid_options', `a handler with @Idempotent() ${what}`);
}
