/** The entry with a name, such as an output of a run. @throws {RangeError} naming the others */
export function named<T>(record: Readonly<Record<string, T>>, name: string): T {
  const found = record[name];
  if (found === undefined) throw new RangeError(`expected an entry ${name}, got ${Object.keys(record).join(", ") || "none"}`);
  return found;
}
