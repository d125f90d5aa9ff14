import { printable } from "./shown.ts";

/** Largest text, list and object that {@link describe} shows in full. */
const limits = { characters: 64, entries: 6, depth: 2 };

/** Describes any JavaScript value for an error message, in one short line. */
export function describe(value: unknown): string {
  try {
    return preview(value, 0);
  } catch {
    // Proxies and getters may throw.
    return "an object that cannot be read";
  }
}

function preview(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "bigint":
      return BigInt.asIntN(64, value) === value ? `${value}n` : "a large BigInt";
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    case "object":
      return value === null ? "null" : previewObject(value, depth);
    default:
      return String(value);
  }
}

function previewObject(value: object, depth: number): string {
  if (Array.isArray(value)) {
    if (depth === limits.depth) return "a list";
    const entries = value.slice(0, limits.entries).map((each) => preview(each, depth + 1));
    return `[${cut(entries, value.length)}]`;
  }
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const named = `${/^[AEIO]/.test(kind) ? "an" : "a"} ${kind}`;
  if (ArrayBuffer.isView(value)) return `${named} of ${value.byteLength} bytes`;
  if (kind !== "Object") return named;
  const keys = isPlain(value) ? Object.keys(value) : [];
  if (depth === limits.depth || keys.length === 0) return "an object";
  const entries = keys
    .slice(0, limits.entries)
    .map((key) => `${cutText(key)}: ${preview((value as Record<string, unknown>)[key], depth + 1)}`);
  return `{ ${cut(entries, keys.length)} }`;
}

/** Whether an object is not an instance of a class. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Another realm has an Object.prototype of its own.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function cut(entries: readonly string[], count: number): string {
  return (entries.length < count ? [...entries, "…"] : entries).join(", ");
}

function quoted(text: string): string {
  const escaped = printable(JSON.stringify(cutText(text)));
  return text.length > limits.characters ? `${escaped} (${text.length} characters)` : escaped;
}

function cutText(text: string): string {
  return text.length > limits.characters ? `${text.slice(0, limits.characters)}…` : text;
}
