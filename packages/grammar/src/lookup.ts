/** The element at an index that the caller knows to be there. @throws {RangeError} otherwise: a bug */
export function elementAt<T>(list: ArrayLike<T>, index: number): T {
  return known(list[index], index);
}

/** The entry of a map that the caller knows to be there. @throws {RangeError} otherwise: a bug */
export function entryOf<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  return known(map.get(key), key);
}

/** The element of a list that has exactly one; undefined for all other lists. */
export function soleOf<T>(list: readonly T[]): T | undefined {
  return list.length === 1 ? list[0] : undefined;
}

function known<T>(value: T | undefined, key: unknown): T {
  if (value === undefined) throw new RangeError(`expected an entry ${String(key)}, got none; this is a bug, please report it`);
  return value;
}
