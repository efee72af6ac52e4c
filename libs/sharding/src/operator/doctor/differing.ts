/** Something that should be the same everywhere. */
export interface Stated<T> {
  readonly value: string;
  readonly by: T;
}

/** Those that say something else than most do, with what those say; the first value wins a draw. */
export function differing<T>(
  stated: readonly Stated<T>[],
): { readonly odd: Stated<T>; readonly usual: string }[] {
  const counts = new Map<string, number>();
  for (const { value } of stated) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [usual] = [...counts].reduce((best, next) => (next[1] > best[1] ? next : best), ['', 0]);
  return stated.filter(({ value }) => value !== usual).map((odd) => ({ odd, usual }));
}
