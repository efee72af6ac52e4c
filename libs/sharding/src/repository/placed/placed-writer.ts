import { InsertResult } from 'typeorm';
import { ShardingError } from '@app/routing';
import { promised } from '../../shards/maybe-promise.js';
import { shardedIdOf } from '../sharded-id.decorator.js';
import { checkWhere } from '../tenant-conditions.js';
import { criteriaOf } from '../tenant-writes.js';
import { writeAt } from '../tenant-place.js';
import { assertNames, giveId, hasId, idPlace } from './given-ids.js';
import { firstFound } from './first-found.js';
import { named } from './loaded-entities.js';
import { noPlacement } from './placement.js';
import type { DeleteResult, EntityManager, ObjectLiteral, SaveOptions, UpdateResult } from 'typeorm';
import type { Shard } from '../../shards/shard.js';
import type { ShardDb } from '../../shards/shard-db.js';
import type { LoadedEntities } from './loaded-entities.js';
import type { PlacedAt, Placement, Places } from './placement.js';

interface PlacedWriterParts {
  readonly placement: Placement;
  readonly loaded: LoadedEntities;
  /** A given database instead of the one that the strategy names. */
  readonly db?: ShardDb | undefined;
}

/** Where one entity is written. */
interface Target extends Pick<PlacedAt, 'place'> {
  readonly shard: Shard;
}

/** The writes of one entity, each on the one shard that its strategy names. */
export class PlacedWriter {
  readonly #parts: PlacedWriterParts;

  constructor(parts: PlacedWriterParts) {
    this.#parts = parts;
  }

  async insert(entities: ObjectLiteral[]): Promise<InsertResult> {
    const { loaded } = this.#parts;
    if (entities.length === 0) return new InsertResult();
    const targets = await this.#targets(entities, ({ shards }) => shards[0]);
    const shard = this.#only(targets.map((target) => target.shard));
    entities.forEach((entity, index) => this.#identify(entity, targets[index]));
    const result = await this.#on(shard, (manager) => manager.insert(this.#target, entities));
    loaded.note(entities, shard);
    return result;
  }

  async save(entities: ObjectLiteral[], options?: SaveOptions): Promise<ObjectLiteral[]> {
    const { loaded } = this.#parts;
    const targets = await this.#targets(
      entities,
      ({ shards }, entity) => loaded.assertStays(entity, shards) ?? this.#holder(shards, entity),
    );
    const shard = this.#only(targets.map((target) => target.shard));
    entities.forEach((entity, index) => {
      if (!loaded.shardOf(entity)) this.#identify(entity, targets[index]);
    });
    const saved = await this.#on(shard, (manager) => manager.save(this.#target, entities, options));
    loaded.note(saved, shard);
    return saved;
  }

  /** The id of a row says where it is, so that it never changes. */
  async update(criteria: unknown, values: ObjectLiteral): Promise<UpdateResult> {
    const { metadata } = this.#parts.placement;
    const key = metadata.primaryColumns.find(({ propertyName }) => values[propertyName] !== undefined);
    if (key) {
      throw new ShardingError(
        'placement_changed',
        `update of ${metadata.name} cannot change "${key.propertyName}": insert a row with the new id and delete this one`,
      );
    }
    return this.#change(criteria, (manager, where) => manager.update(this.#target, where, values));
  }

  delete(criteria: unknown): Promise<DeleteResult> {
    return this.#change(criteria, (manager, where) => manager.delete(this.#target, where));
  }

  get #target() {
    return this.#parts.placement.metadata.target;
  }

  get #name(): string {
    return this.#parts.placement.metadata.name;
  }

  /** Where each entity is written; asks for each once. */
  #targets(
    entities: readonly ObjectLiteral[],
    choose: (at: PlacedAt, entity: ObjectLiteral) => Shard | undefined | Promise<Shard | undefined>,
  ): Promise<Target[]> {
    return Promise.all(
      entities.map(async (entity) => {
        const at = this.#at(await promised(() => this.#parts.placement.ofEntity(entity)));
        return { place: at.place, shard: (await choose(at, entity)) ?? this.#unplaced() };
      }),
    );
  }

  /** What the strategy says, or the given database where it does not; they must agree. */
  #at(at: PlacedAt | undefined): PlacedAt {
    const { shard } = this.#parts.db ?? {};
    if (!shard) return at ?? this.#unplaced();
    if (at && !at.shards.includes(shard)) throw this.#across([shard, ...at.shards]);
    const place = at?.place ?? shard.identifier;
    return place ? { place, shards: [shard] } : this.#unplaced();
  }

  #unplaced(): never {
    const own = shardedIdOf(this.#target);
    const id = own
      ? ' (an id of ShardedUuid.generate or SlotUuid.generate), or use on(db)'
      : ', or use on(db)';
    throw noPlacement(this.#name, `an entity is written: give it what the strategy asks for${id}`);
  }

  #only(all: readonly Shard[]): Shard {
    const shards = [...new Set(all)];
    const [shard] = shards;
    if (!shard || shards.length > 1) throw this.#across(shards);
    return shard;
  }

  #across(shards: readonly Shard[]): ShardingError {
    return new ShardingError(
      'cross_shard_transaction',
      `what is written of ${this.#name} belongs to ${named(shards)}: write each shard's rows by themselves, as there is no transaction across shards`,
    );
  }

  #identify(entity: ObjectLiteral, target: Target | undefined): void {
    const column = shardedIdOf(this.#target);
    if (!column || !target) return;
    const place = idPlace(target.place, target.shard);
    if (hasId(entity, column)) assertNames(entity, column, place);
    else giveId(entity, column, place);
  }

  /** Of several shards the one that has the row already; a new one goes to the first. */
  async #holder(shards: Places, row: ObjectLiteral): Promise<Shard | undefined> {
    const { metadata } = this.#parts.placement;
    if (shards.length === 1 || !metadata.hasAllPrimaryKeys(row)) return shards[0];
    return this.#holding(shards, metadata.getEntityIdMap(row) ?? {});
  }

  async #holding(shards: Places, where: ObjectLiteral): Promise<Shard | undefined> {
    const ask = async (shard: Shard) =>
      (await this.#on(shard, (manager) => manager.existsBy(this.#target, where))) ? true : null;
    return (await firstFound(shards, { ask }))?.shard ?? shards[0];
  }

  async #change<T>(
    criteria: unknown,
    work: (manager: EntityManager, where: ObjectLiteral) => Promise<T>,
  ): Promise<T> {
    const where = this.#condition(criteria);
    const shard = await this.#shardOf(where);
    return this.#on(shard, (manager) => work(manager, where));
  }

  /** The one shard of all rows of a condition. */
  async #shardOf(where: ObjectLiteral): Promise<Shard> {
    const { db, placement } = this.#parts;
    if (db) return db.shard;
    const places = await promised(() => placement.ofQuery(where));
    if (!places) {
      throw noPlacement(
        this.#name,
        'the rows of these criteria are: name their id, or what it asks for, or use on(db)',
      );
    }
    const alternatives = Array.isArray(where) ? (where as ObjectLiteral[]) : [where];
    const shards = places.map((all, index) => this.#ofAlternative(all, alternatives[index] ?? {}));
    return this.#only(await Promise.all(shards));
  }

  async #ofAlternative(shards: Places, where: ObjectLiteral): Promise<Shard> {
    const [first] = shards;
    if (first && shards.length === 1 && !shards.missing) return first;
    const one = this.#parts.placement.idIn(where) !== undefined;
    const holding = one ? await this.#holding(shards, where) : undefined;
    if (holding) return holding;
    throw shards.missing ?? this.#across(shards);
  }

  #condition(criteria: unknown): ObjectLiteral {
    const { metadata } = this.#parts.placement;
    const where = criteriaOf(criteria, metadata) as ObjectLiteral;
    checkWhere(where, metadata, undefined);
    const all = Array.isArray(where) ? (where as ObjectLiteral[]) : [where];
    if (all.length > 0 && all.every((one) => Object.keys(one).length > 0)) return where;
    throw new ShardingError('invalid_options', `criteria of ${this.#name} are empty: name the rows`);
  }

  #on<T>(shard: Shard, work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const { db } = this.#parts;
    return writeAt({ shard, db }, ({ manager }) => work(manager));
  }
}
