import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * SQL twins of `slotOf` and of the slot inside a `SlotUuid`, on every target. All three mean the same whatever the
 * caller's `search_path` is, so that they can stand in indexes and generated columns.
 */
export class SlotFunctions implements MigrationInterface {
  readonly name = 'SlotFunctions1796000000001';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [slotOfText(), slotOfInteger(), slotOfUuid(), ...comments()]) {
      await runner.query(statement);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop function _sharding_slot(text), _sharding_slot(bigint), _sharding_slot_of(uuid)');
  }
}

/** FNV-1a over the UTF-8 bytes. Modulo 2^14 a bit of a product depends only on bits at or below it. */
function slotOfText(): string {
  return `
    create function _sharding_slot(routing_key text) returns int
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
    declare
      bytes constant bytea := convert_to(routing_key, 'UTF8');
      hash int := 8997;
    begin
      for position in 0 .. octet_length(bytes) - 1 loop
        hash := ((hash # get_byte(bytes, position)) * 435) & 16383;
      end loop;
      return hash;
    end $$`;
}

/**
 * splitmix64 on two unsigned 32-bit halves, each in a bigint: bigint itself would overflow. A product is taken by the
 * 16-bit halves of the constant; of the second only the bits that reach the low 14 of the result are computed.
 */
function slotOfInteger(): string {
  return `
    create function _sharding_slot(routing_key bigint) returns int
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
    declare
      mask constant bigint := 4294967295;
      low bigint := (routing_key & mask) + 2135587861; -- 0x7f4a7c15
      high bigint := ((routing_key >> 32) + 2654435769 + (low >> 32)) & mask; -- 0x9e3779b9
      carried bigint;
    begin
      low := low & mask;

      low := low # (((high << 2) | (low >> 30)) & mask);
      high := high # (high >> 30);
      carried := low * 58809 + ((low * 7396 & 65535) << 16); -- 0xe5b9, 0x1ce4
      high := (carried >> 32) + (low * 7396 >> 16)
        + low * 18285 + ((low * 48984 & 65535) << 16) -- 0x476d, 0xbf58
        + high * 58809 + ((high * 7396 & 65535) << 16) & mask;
      low := carried & mask;

      low := low # (((high << 5) | (low >> 27)) & mask);
      high := high # (high >> 27);
      carried := low * 4587 + ((low * 4913 & 65535) << 16); -- 0x11eb, 0x1331
      high := (carried >> 32) + (low * 4913 >> 16)
        + low * 18875 + high * 4587; -- 0x49bb: only the low 13 bits are needed from here on
      low := carried & mask;

      return (low # (low >> 31) # (high << 1)) & 16383;
    end $$`;
}

/** Version 8, the variant of RFC 9562 and four zero bits after the group, else null. */
function slotOfUuid(): string {
  return `
    create function _sharding_slot_of(id uuid) returns int
    language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
    declare
      bytes constant bytea := uuid_send(id);
    begin
      if get_byte(bytes, 6) >> 4 <> 8 or get_byte(bytes, 7) & 15 <> 0 or get_byte(bytes, 8) >> 6 <> 2 then
        return null;
      end if;
      return ((get_byte(bytes, 8) & 63) << 8) | get_byte(bytes, 9);
    end $$`;
}

function comments(): string[] {
  return [
    `comment on function _sharding_slot(text) is 'The slot of a text routing key, as nestjs-sharding computes it.'`,
    `comment on function _sharding_slot(bigint) is
      'The slot of an integer routing key, as nestjs-sharding computes it.'`,
    `comment on function _sharding_slot_of(uuid) is 'The slot inside a SlotUuid; null for every other uuid.'`,
  ];
}
