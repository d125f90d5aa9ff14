import { GrammarError } from "./errors.ts";
import { quoted } from "./source/sourceError.ts";

/** A wrong argument: `where: expected X, got Y`. */
export function argumentError(where: string, expected: string, got: string): GrammarError {
  return new GrammarError("GRAMMAR_ARGUMENT", `${where}: expected ${expected}, got ${got}`);
}

/** Any value in a few words, for messages. */
export function shown(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (value === null || value === undefined || typeof value === "number" || typeof value === "boolean") return `${value}`;
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

/** Requires an object: options, or what stands for a text or a grammar. */
export function objectOf<T extends object>(where: string, what: string, value: T): T {
  if (typeof value !== "object" || value === null) throw argumentError(where, what, shown(value));
  return value;
}

/** Requires an array without holes. */
export function listOf<T>(where: string, items: readonly T[]): readonly T[] {
  if (!Array.isArray(items)) throw argumentError(where, "an array", shown(items));
  for (const i of items.keys()) if (!(i in items)) throw argumentError(where, "an array without holes", `none at index ${i}`);
  return items;
}

/** Requires something to iterate over. */
export function iterableOf<T>(where: string, what: string, values: Iterable<T>): readonly T[] {
  if (typeof values?.[Symbol.iterator] !== "function") throw argumentError(where, what, shown(values));
  // A detached array counts as empty. It cannot be iterated over.
  return ArrayBuffer.isView(values) && values.byteLength === 0 ? [] : Array.from(values);
}
