/** The element at an index that the caller knows to be there. @throws {RangeError} otherwise: a bug */
export function elementAt<T>(list: ArrayLike<T>, index: number): T {
  const element = list[index];
  if (element === undefined)
    throw new RangeError(`expected an index from 0 to ${list.length - 1}, got ${index}; this is a bug, please report it`);
  return element;
}
