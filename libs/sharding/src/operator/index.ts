/** What asks databases without an application: for the command line. Loads `pg`, and neither TypeORM nor NestJS. */
export { FIND_PIN, SHARDS_OF_SLOT } from '../directory/directory-statements.js';
export type { FoundRow } from '../directory/directory-statements.js';
export { judgePin, refusedPin } from '../directory/judge-pin.js';
export type { PinVerdict } from '../directory/judge-pin.js';
export { noDirectory } from '../directory/no-directory.js';
export { tooLong } from '../directory/pin-key.js';
export type { Pin } from '../directory/pin.js';
export { fanOut } from '../shards/fan-out.js';
export type { ShardOutcome } from '../shards/fan-out.js';
export { bytesBehind } from '../shards/reads/lsn.js';
export { bareSql } from '../shards/sql-text.js';
export { noSlotMap } from '../slot-map/no-slot-map.js';
export { askWay } from './ask-way.js';
export { migrator } from './migrator.js';
export type { MigrationLimits } from '../migrations/migration-limits.js';
export type { TargetStatus } from '../migrations/migration-status.js';
export type { TargetChoice } from '../migrations/migration-target.js';
export type { MigrationProgress } from '../migrations/run-targets.js';
export type { TargetFailure, TargetResult } from '../migrations/target-result.js';
export { withMoves } from './with-moves.js';
export type { Moves, MoveOptions } from '../moves/moves.js';
export type { MoveRecord, MoveState } from '../moves/record/move-record.js';
export type { MoveRequest } from '../moves/move-request.js';
export { MOVE_POINTS } from '../moves/mover.js';
export type { ExpectedRows, MovePoint, MoveProgress } from '../moves/mover.js';
export { MoveMismatch } from '../moves/move-mismatch.js';
export { checkCertificate } from '../moves/certificate.js';
export type { MoveCertificate } from '../moves/certificate.js';
export type { ComparedTable, CompareRequest } from '../moves/compare-shards.js';
export { controlPlace, directWay, placesOf, shardPlaces } from './place.js';
export type { Place, ShardPlace } from './place.js';
export { withPins } from './with-pins.js';
export type { Pins } from '../directory/pins.js';
export { readSchema } from './schema/read-schema.js';
export { differencesOf, schemaDifferences } from './schema/schema-differences.js';
export type { SchemaDifference, Variant } from './schema/schema-differences.js';
export type { Fact, SchemaObject, ShardSchema } from './schema/schema-object.js';
export { configurationFindings } from './doctor/checks/configuration.js';
export { diagnose } from './doctor/doctor.js';
export type { Diagnosis } from './doctor/diagnose.js';
export type { Finding, Severity } from './doctor/finding.js';
export { changesIdentifiers } from './slot-map/map-changes.js';
export type { MapChanges, MappedIdentifier, RecordedMap, SlotChange } from './slot-map/map-changes.js';
export { acceptMap, proposedMap, recordedMaps } from './slot-map/recorded-map.js';
export type { ProposedMap } from './slot-map/recorded-map.js';
export { sessionOf } from '../moves/move-session.js';
export type { MoveSession } from '../moves/move-session.js';
export type { MovedRows } from '../moves/scope-filter.js';
export type { MovedTable } from '../moves/tables/moved-table.js';
export { fenceLeft, passFence } from '../moves/fence/fence-rows.js';
export type { FenceOwner } from '../moves/fence/fence-rows.js';
export { installFence } from '../moves/fence/install-fence.js';
export { clearSubjects, lowerFence, removeTombstones } from '../moves/fence/lower-fence.js';
export { raiseFence, setTombstones } from '../moves/fence/raise-fence.js';
export type { FenceOrder } from '../moves/fence/raise-fence.js';
export { removeIdleFences } from '../moves/fence/remove-idle-fences.js';
export { waitForWriters } from '../moves/fence/wait-for-writers.js';
export { AUDIT_KINDS, isClean } from '../moves/audit/audit-finding.js';
export type { AuditFinding, AuditKind, KeyHome, Leftover } from '../moves/audit/audit-finding.js';
export { MAX_FINDINGS } from '../moves/audit/audit-request.js';
export type {
  AuditOptions,
  AuditProgress,
  AuditReport,
  AuditRequest,
} from '../moves/audit/audit-request.js';
export { REPAIR_MODES } from '../moves/audit/repair-options.js';
export type { RepairMode, RepairOptions, RepairReport, RepairStep } from '../moves/audit/repair-options.js';
