import { expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { failureMessage } from './failure-message.js';

/** As the driver gives it. */
const server = (code: string, message: string, told: object = {}) =>
  Object.assign(new Error(message), { code, ...told });

const HIDDEN = 'a function of the database has raised it; what it says may quote rows and is hidden';

it.each([
  [
    '22P02',
    'invalid input syntax for type integer: "alice\n12"',
    'invalid input syntax for type integer: [hidden]',
  ],
  [
    '22P02',
    'ungültige Eingabesyntax für Typ integer: »alice«',
    'ungültige Eingabesyntax für Typ integer: [hidden]',
  ],
  [
    '22003',
    'value "99999999999" is out of range for type integer',
    'value [hidden] is out of range for type integer',
  ],
  [
    '22021',
    'invalid byte sequence for encoding "UTF8": 0xe4',
    'invalid byte sequence for encoding [hidden]: [hidden]',
  ],
  ['22001', 'value too long for type character varying(3)', 'value too long for type character varying(3)'],
  ['22012', 'division by zero', 'division by zero'],
])('%s %j does not show the value', (code, message, shown) => {
  expect(failureMessage(server(code, message))).toBe(shown);
  expect(failureMessage(new QueryFailedError('', [], server(code, message)))).toBe(shown);
});

it('shows which rule was violated, where the server says it', () => {
  const message = 'null value in column "email" of relation "users" violates not-null constraint';
  expect(failureMessage(server('23502', message, { table: 'users', column: 'email' }))).toBe(message);
  const ofDomain = 'value for domain email violates check constraint "email_check"';
  expect(failureMessage(server('23514', ofDomain, { dataType: 'email' }))).toBe(ofDomain);
});

it.each([
  ['23505', { routine: 'exec_stmt_raise' }],
  ['23505', { routine: 'exec_stmt_raise', table: 'users' }],
  ['22023', { routine: 'exec_stmt_raise' }],
  ['23514', {}],
])('%s of a function says anything: it is not shown', (code, told) => {
  expect(failureMessage(server(code, 'alice@example.org is taken', told))).toBe(HIDDEN);
});

it('shows the words of others, their first line, without URLs and passwords', () => {
  expect(failureMessage(server('42P07', 'relation "things" already exists'))).toBe(
    'relation "things" already exists',
  );
  expect(failureMessage(new Error('got no answer of postgres://app:hush@db/x\nat ...'))).toBe(
    'got no answer of [hidden]',
  );
  expect(failureMessage('hush')).toBe('not an error');
});
