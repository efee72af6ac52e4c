import {
  ChildEntity,
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  OneToOne,
  PrimaryColumn,
  TableInheritance,
} from 'typeorm';
import { ShardedEntity } from '@app/sharding';

/** Entities with every kind of relation, with and without cascades. */

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('shelves')
export class Shelf {
  @PrimaryColumn()
  id!: number;

  @Column({ name: 'tenant_id' })
  tenantId!: string;

  @OneToMany(() => Item, ({ shelf }) => shelf)
  items!: Item[];

  @OneToOne(() => Sign, ({ shelf }) => shelf)
  sign!: Sign | null;
}

/** A tenant's sign on a shelf. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('signs')
export class Sign {
  @PrimaryColumn()
  id!: number;

  @Column({ name: 'tenant_id' })
  tenantId!: string;

  @OneToOne(() => Shelf, ({ sign }) => sign, { nullable: true })
  @JoinColumn({ name: 'shelf_id' })
  shelf!: Shelf | null;
}

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('items')
@TableInheritance({ column: { type: 'text', name: 'kind' } })
export class Item {
  @PrimaryColumn()
  id!: number;

  @Column({ name: 'tenant_id' })
  tenantId!: string;

  @Column({ default: '' })
  name!: string;

  @ManyToOne(() => Shelf, ({ items }) => items, { nullable: true })
  @JoinColumn({ name: 'shelf_id' })
  shelf!: Shelf | null;

  @Column({ name: 'shelf_id', nullable: true })
  shelfId!: number | null;

  @ManyToMany(() => Label, ({ items }) => items)
  @JoinTable({
    name: 'item_labels',
    joinColumn: { name: 'item_id' },
    inverseJoinColumn: { name: 'label_id' },
  })
  labels!: Label[];

  @ManyToOne(() => Maker, { nullable: true, cascade: true })
  @JoinColumn({ name: 'maker_id' })
  maker!: Maker | null;
}

/** In the table of items, with a cascade of its own. */
@ChildEntity('set')
export class ItemSet extends Item {
  @ManyToOne(() => Item, { nullable: true, cascade: true })
  @JoinColumn({ name: 'first_id' })
  first!: Item | null;
}

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('labels')
export class Label {
  @PrimaryColumn()
  id!: number;

  @Column({ name: 'tenant_id' })
  tenantId!: string;

  @ManyToMany(() => Item, ({ labels }) => labels)
  items!: Item[];
}

/** Shared by all tenants: it has no tenant column. */
@Entity('makers')
export class Maker {
  @PrimaryColumn()
  id!: number;

  @Column({ default: '' })
  name!: string;
}

/** Whose tenants are numbers, of which PostgreSQL takes several spellings. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('numbered')
export class Numbered {
  @PrimaryColumn()
  id!: number;

  @Column({ name: 'tenant_id', type: 'bigint' })
  tenantId!: string;
}

export const SHELF_ENTITIES = [Numbered, Shelf, Sign, Item, ItemSet, Label, Maker];

export const SHELF_TABLES = `
  create table numbered (id int primary key, tenant_id bigint not null);
  create table shelves (id int primary key, tenant_id text not null);
  create table signs (id int primary key, tenant_id text not null, shelf_id int references shelves);
  create table makers (id int primary key, name text not null default '');
  create table items (id int primary key, tenant_id text not null, name text not null default '',
    shelf_id int references shelves, maker_id int references makers, first_id int references items, kind text not null default 'Item');
  create table labels (id int primary key, tenant_id text not null);
  create table item_labels (item_id int references items, label_id int references labels, primary key (item_id, label_id))`;

/** Rows 1 are of acme, rows 2 of globex, except that item 3 of globex stands on the shelf of acme. */
export const SHELF_ROWS = `
  truncate numbered, shelves, signs, items, labels, item_labels, makers;
  insert into shelves values (1, 'acme'), (2, 'globex');
  insert into makers values (1, 'of all');
  insert into labels values (1, 'acme'), (2, 'globex');
  insert into signs values (1, 'acme', 1), (2, 'globex', 2);
  insert into items (id, tenant_id, shelf_id) values (1, 'acme', 1), (2, 'globex', 2), (4, 'acme', null);
  insert into item_labels values (1, 1)`;
