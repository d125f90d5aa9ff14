const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/**
 * A text that is the same for equal sources and options: plain data and URLs by their content, and everything else (files, bytes, functions)
 * by its identity.
 */
export function keyOf(value: unknown): string {
  // The second argument is what `toJSON` returned, which bytes of Node have, too.
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, name, json: unknown) {
    const part = this[name];
    if (typeof part === "function") return identity(part);
    if (typeof part !== "object" || part === null || Array.isArray(part) || part instanceof URL) return json;
    if (Object.getPrototypeOf(part) !== Object.prototype) return identity(part);
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function identity(part: object): { readonly identity: number } {
  const number = numbers.get(part) ?? ++lastNumber;
  numbers.set(part, number);
  return { identity: number };
}
