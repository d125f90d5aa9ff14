/** A list of `N` elements. */
export type Tuple<T, N extends number, Found extends readonly T[] = readonly []> = Found["length"] extends N
  ? Found
  : Tuple<T, N, readonly [...Found, T]>;

/** A list as the tuple that the caller knows it to be. @throws {RangeError} if it has another length: a bug */
export function tupleOf<T, const N extends number>(list: readonly T[], length: N): Tuple<T, N> {
  if (list.length !== length) throw new RangeError(`expected a list of ${length}, got ${list.length}; this is a bug, please report it`);
  return list as readonly T[] as Tuple<T, N>;
}

/** `f` of each element of a list; a tuple if the list is a tuple. */
export function mapTuple<const List extends readonly unknown[], Result>(
  list: List,
  f: (element: List[number], index: number) => Result,
): { readonly [I in keyof List]: Result } {
  return list.map(f) as { readonly [I in keyof List]: Result };
}
