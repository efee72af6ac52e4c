import { expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  RelationId,
  Tree,
  TreeChildren,
  TreeParent,
} from 'typeorm';

import { ShardedEntity, ShardingModule } from '@app/sharding';
import { freePort } from '../../support/free-port.js';

/** Entities that could be read or written past their tenant are refused when the application starts. */

class Row {
  @PrimaryColumn()
  id!: number;
}

class TenantRow extends Row {
  @Column()
  tenantId!: string;
}

const scoped = ShardedEntity({ tenantColumn: 'tenantId' });

@scoped
@Entity('team')
class Team extends TenantRow {
  @OneToMany(() => Member, ({ team }) => team)
  members!: Member[];
}

@scoped
@Entity('member')
class Member extends TenantRow {
  @ManyToOne(() => Team, ({ members }) => members)
  team!: Team;
}

@scoped
@Entity('over_tenant')
class OverTenant extends TenantRow {
  @ManyToOne(() => Team)
  @JoinColumn([
    { name: 'tenantId', referencedColumnName: 'tenantId' },
    { name: 'team_id', referencedColumnName: 'id' },
  ])
  team!: Team;
}

@scoped
@Entity('transformed')
class Transformed extends Row {
  @Column({ type: 'text', transformer: { to: (value: string) => value.toLowerCase(), from: String } })
  tenantId!: string;
}

@scoped
@Entity('unwritten')
class Unwritten extends Row {
  @Column({ insert: false, default: 'acme' })
  tenantId!: string;
}

@scoped
@Entity('padded')
class Padded extends Row {
  @Column({ type: 'char', length: 8 })
  tenantId!: string;
}

@scoped
@Entity('loose')
class Loose extends Row {
  @Column({ type: 'citext' })
  tenantId!: string;
}

@scoped
@Entity('twice')
class Twice extends Row {
  @Column({ name: 'tenant_id' })
  tenantId!: string;

  @Column({ name: 'tenant_id' })
  owner!: string;
}

@scoped
@Entity('nested')
@Tree('nested-set')
class Nested extends TenantRow {
  @TreeChildren()
  children!: Nested[];

  @TreeParent()
  parent!: Nested;
}

@scoped
@Entity('with_ids')
class WithIds extends TenantRow {
  @ManyToMany(() => Team)
  @JoinTable()
  teams!: Team[];

  @RelationId((row: WithIds) => row.teams)
  teamIds!: number[];
}

@Entity('team')
class AnyTeam extends TenantRow {}

@Entity('team')
@ShardedEntity({ tenantColumn: 'owner' })
class OwnedTeam extends TenantRow {
  @Column()
  owner!: string;
}

/** Not a repository's, but what a join gives would load its members by itself. */
@Entity('club')
class Club extends Row {
  @ManyToMany(() => Member, { lazy: true })
  @JoinTable()
  members!: Promise<Member[]>;
}

/** Shared by all tenants, with the ids of their rows. */
@Entity('topic')
class Topic extends Row {
  @ManyToMany(() => Member)
  @JoinTable()
  members!: Member[];

  @RelationId((topic: Topic) => topic.members)
  memberIds!: number[];
}

async function boot(entity: never, others: never[]): Promise<void> {
  const port = await freePort();
  const primaryUrl = `postgres://nobody@127.0.0.1:${port}/none`;
  @Module({
    imports: [
      ShardingModule.forRoot({
        database: { shards: [{ name: 'shard0', primaryUrl }] },
        entities: [Team as never, Member as never, entity, ...others],
      }),
      ShardingModule.forFeature([entity]),
    ],
  })
  class Root {}
  const app = await NestFactory.create(Root, { logger: false, abortOnError: false });
  await app.close();
}

it.each<[string, unknown, unknown[], RegExp]>([
  [
    'a relation over the tenant column',
    OverTenant,
    [],
    /OverTenant\.team: a relation over the tenant column could name another tenant/,
  ],
  [
    'a transformer',
    Transformed,
    [],
    /Transformed\.tenantId has a transformer: the tenant column stores the routing key as it is/,
  ],
  ['a column that is not written', Unwritten, [], /Unwritten\.tenantId is not written on insert/],
  [
    'a padded type',
    Padded,
    [],
    /Padded\.tenantId is of type character, in which different tenants can be equal/,
  ],
  ['a type without case', Loose, [], /Loose\.tenantId is of type citext/],
  ['two properties of the column', Twice, [], /Twice\.owner is the tenant column again/],
  ['a nested set', Nested, [], /Nested: a nested set renumbers the rows of all tenants/],
  ['ids of related rows', WithIds, [], /WithIds\.teamIds: @RelationId would load ids past the tenant/],
  [
    'ids of related rows in what is joined',
    Member,
    [Topic],
    /Topic\.memberIds: @RelationId would load ids past the tenant/,
  ],
  [
    'a second entity of the table',
    Team,
    [AnyTeam],
    /AnyTeam has the table of Team but not its tenant column/,
  ],
  [
    'a second tenant column of the table',
    Team,
    [OwnedTeam],
    /OwnedTeam has the table of Team but not its tenant column/,
  ],
  [
    'a lazy relation of a joined entity',
    Member,
    [Club],
    /Club\.members: a lazy relation would be loaded past the tenant/,
  ],
])('refuses %s', async (_name, entity, others, message) => {
  await expect(boot(entity as never, others as never[])).rejects.toMatchObject({
    code: 'invalid_topology',
    message: expect.stringMatching(message),
  });
});

it('names everything that is wrong at once', async () => {
  await expect(boot(Nested as never, [Padded as never])).rejects.toThrow(/Padded.*; Nested|Nested.*; Padded/);
});
