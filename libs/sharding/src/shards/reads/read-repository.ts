import type {
  EntityTarget,
  FindManyOptions,
  FindOneOptions,
  FindOptionsWhere,
  ObjectLiteral,
  Repository,
} from 'typeorm';

/** Runs one read on the repository of the database that serves it. */
export type ReadRunner<E extends ObjectLiteral> = <T>(
  read: (repository: Repository<E>) => Promise<T>,
) => Promise<T>;

type Where<E extends ObjectLiteral> = FindOptionsWhere<E> | FindOptionsWhere<E>[];
type NumberColumn<E> = {
  [K in keyof E]: E[K] extends number | bigint | null | undefined ? K : never;
}[keyof E] &
  string;

/** The reading methods of a TypeORM repository, with its names and options. What writes does not exist here. */
export class ReadRepository<E extends ObjectLiteral> {
  readonly #run: ReadRunner<E>;

  /** Obtained from a `Reader`. */
  constructor(
    readonly target: EntityTarget<E>,
    run: ReadRunner<E>,
  ) {
    this.#run = run;
  }

  find(options?: FindManyOptions<E>): Promise<E[]> {
    return this.#run((repository) => repository.find(options));
  }

  findBy(where: Where<E>): Promise<E[]> {
    return this.#run((repository) => repository.findBy(where));
  }

  findAndCount(options?: FindManyOptions<E>): Promise<[E[], number]> {
    return this.#run((repository) => repository.findAndCount(options));
  }

  findAndCountBy(where: Where<E>): Promise<[E[], number]> {
    return this.#run((repository) => repository.findAndCountBy(where));
  }

  findOne(options: FindOneOptions<E>): Promise<E | null> {
    return this.#run((repository) => repository.findOne(options));
  }

  findOneBy(where: Where<E>): Promise<E | null> {
    return this.#run((repository) => repository.findOneBy(where));
  }

  /** @throws TypeORM's `EntityNotFoundError` */
  findOneOrFail(options: FindOneOptions<E>): Promise<E> {
    return this.#run((repository) => repository.findOneOrFail(options));
  }

  /** @throws TypeORM's `EntityNotFoundError` */
  findOneByOrFail(where: Where<E>): Promise<E> {
    return this.#run((repository) => repository.findOneByOrFail(where));
  }

  count(options?: FindManyOptions<E>): Promise<number> {
    return this.#run((repository) => repository.count(options));
  }

  countBy(where: Where<E>): Promise<number> {
    return this.#run((repository) => repository.countBy(where));
  }

  exists(options?: FindManyOptions<E>): Promise<boolean> {
    return this.#run((repository) => repository.exists(options));
  }

  existsBy(where: Where<E>): Promise<boolean> {
    return this.#run((repository) => repository.existsBy(where));
  }

  sum(column: NumberColumn<E>, where?: Where<E>): Promise<number | null> {
    return this.#run((repository) => repository.sum(column as never, where));
  }

  average(column: NumberColumn<E>, where?: Where<E>): Promise<number | null> {
    return this.#run((repository) => repository.average(column as never, where));
  }

  minimum(column: NumberColumn<E>, where?: Where<E>): Promise<number | null> {
    return this.#run((repository) => repository.minimum(column as never, where));
  }

  maximum(column: NumberColumn<E>, where?: Where<E>): Promise<number | null> {
    return this.#run((repository) => repository.maximum(column as never, where));
  }
}
