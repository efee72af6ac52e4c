/** What asks databases without an application: for the command line. Loads `pg`, and neither TypeORM nor NestJS. */
export { FIND_PIN, SHARDS_OF_SLOT } from '../directory/directory-statements.js';
export type { FoundRow } from '../directory/directory-statements.js';
export { sendCancelRequest } from '../shards/cancel-request.js';
export { withDedicatedConnection } from '../shards/dedicated-connection.js';
export { fanOut } from '../shards/fan-out.js';
export type { ShardOutcome } from '../shards/fan-out.js';
export { bareSql } from '../shards/sql-text.js';
export { withPins } from './with-pins.js';
export type { Pins } from '../directory/pins.js';
export { readSchema } from './schema/read-schema.js';
export { differencesOf, EXISTS, schemaDifferences } from './schema/schema-differences.js';
export { differencesOf, schemaDifferences } from './schema/schema-differences.js';
export type { SchemaDifference, Variant } from './schema/schema-differences.js';
export type { Fact, SchemaObject, ShardSchema } from './schema/schema-object.js';
