/** What asks shards about actions and events without an application: for the command line. Loads neither NestJS nor TypeORM. */
export { deadLetters, requeueDead } from '../outbox/dead-letters.js';
export type { DeadLetter, DeadLetterChoice } from '../outbox/dead-letters.js';
export { askStatus, COUNT_LIMIT } from '../outbox/outbox-status.js';
export type { AskedStatus } from '../outbox/outbox-status.js';
