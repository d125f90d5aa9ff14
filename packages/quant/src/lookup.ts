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

/** The entry of a record that the caller knows to be there, such as an output of a run. @throws {RangeError} otherwise, naming the others */
export function named<T>(record: Readonly<Record<string, T>>, name: string): T {
  const found = record[name];
  if (found === undefined) throw new RangeError(`expected an entry ${name}, got ${Object.keys(record).join(", ") || "none"}`);
  return found;
}

function known<T>(value: T | undefined, key: unknown): T {
  if (value === undefined) throw new RangeError(`expected an entry ${String(key)}, got none; this is a bug, please report it`);
  return value;
}
