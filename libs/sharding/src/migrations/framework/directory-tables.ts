import { directoryTriggers } from './directory-triggers.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The directory on the control database, with its revision, its changes, its log and the processes that follow it. */
export class DirectoryTables implements MigrationInterface {
  readonly name = 'DirectoryTables1796000000002';

  async up(runner: QueryRunner): Promise<void> {
    const [found] = (await runner.query('select quote_ident(current_schema()) as schema')) as {
      schema: string;
    }[];
    const statements = [
      ...revision(),
      ...directory(),
      ...changes(),
      ...placementLog(),
      ...processes(),
      ...directoryTriggers(found?.schema ?? 'public'),
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table _sharding_processes, _sharding_placement_log, _sharding_directory_changes,
      _sharding_directory, _sharding_revision`);
    await runner.query(`drop function _sharding_directory_begin(), _sharding_directory_touch(),
      _sharding_directory_inserted(), _sharding_directory_updated(), _sharding_directory_deleted(),
      _sharding_directory_truncated(), _sharding_directory_announce(bigint, text[]),
      _sharding_directory_keep(text, smallint)`);
  }
}

function revision(): string[] {
  return [
    `create table _sharding_revision (
      revision bigint not null,
      only_row boolean primary key default true constraint only_one_row check (only_row))`,
    `insert into _sharding_revision (revision) values (0)`,
    `comment on table _sharding_revision is
      'One row: the revision of _sharding_directory. Written by its triggers only.'`,
  ];
}

function directory(): string[] {
  return [
    `create table _sharding_directory (
      routing_key text primary key
        constraint routing_key_is_at_most_255_bytes check (octet_length(routing_key) <= 255),
      shard_name text
        constraint shard_name_is_1_to_255_of_a_z_0_9_underscore_hyphen check (shard_name ~ '^[a-z0-9_-]{1,255}$'),
      group_id smallint constraint group_id_is_0_to_255 check (group_id between 0 and 255),
      note text constraint note_is_at_most_1000_characters check (length(note) <= 1000),
      updated_at timestamptz not null default now(),
      slot int generated always as (_sharding_slot(routing_key)) stored,
      constraint shard_name_or_group_id_is_given check (num_nonnulls(shard_name, group_id) > 0))`,
    `create index _sharding_directory_slot on _sharding_directory (slot)`,
    `create index _sharding_directory_shard_name on _sharding_directory (shard_name)`,
    `comment on table _sharding_directory is
      'Exceptions from the slot map: pins and groups of routing keys. Written by Pins, shardctl and operators (SQL).'`,
  ];
}

function changes(): string[] {
  return [
    `create table _sharding_directory_changes (revision bigint not null, routing_key text)`,
    `create index _sharding_directory_changes_revision on _sharding_directory_changes (revision)`,
    `comment on table _sharding_directory_changes is
      'Keys changed in the last 1000 revisions; null: any. Written by the triggers of _sharding_directory only.'`,
  ];
}

function placementLog(): string[] {
  return [
    `create table _sharding_placement_log (
      id bigint generated always as identity primary key,
      at timestamptz not null default now(),
      login text not null,
      who text not null,
      routing_key text not null,
      from_shard text,
      to_shard text,
      from_group smallint,
      to_group smallint,
      why text)`,
    `create index _sharding_placement_log_routing_key on _sharding_placement_log (routing_key)`,
    `comment on table _sharding_placement_log is
      'Who moved which key where, and why; who is what the session said, login is certain. Written by the triggers of _sharding_directory only.'`,
  ];
}

function processes(): string[] {
  return [
    `create table _sharding_processes (
      process_id uuid primary key,
      name text not null,
      revision bigint not null,
      started_at timestamptz not null default now(),
      lease_until timestamptz not null)`,
    `comment on table _sharding_processes is
      'Running processes and the directory revision each has applied. Written by each process for itself.'`,
  ];
}
