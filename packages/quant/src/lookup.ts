/** The element at an index that the caller knows to be there. @throws {RangeError} otherwise: a bug */
export function elementAt<T>(list: ArrayLike<T | undefined>, index: number): T {
  return known(list[index], index);
}

/** The last element of a list that the caller knows to have one. @throws {RangeError} otherwise: a bug */
export function lastOf<T>(list: ArrayLike<T>): T {
  return elementAt(list, list.length - 1);
}

/** The entry of a map that the caller knows to be there. @throws {RangeError} otherwise: a bug */
export function entryOf<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  return known(map.get(key), key);
}

function known<T>(value: T | undefined, key: unknown): T {
  if (value === undefined) throw new RangeError(`expected an entry ${String(key)}, got none; this is a bug, please report it`);
  return value;
}
