/** Returns a function that makes a value when it is called first, and returns it from then on. */
export function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
