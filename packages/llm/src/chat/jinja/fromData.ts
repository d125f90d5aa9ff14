import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";
import { Dict, Float, List, type Value } from "./values.ts";

const maxDepth = 200;

/**
 * Converts plain data to template values. Strings and keys count as content, unless they already are a {@link Text}.
 * @throws {EvaluationError} if the data is cyclic, nested too deeply or not plain
 */
export function fromData(data: unknown, depth = 0): Value {
  if (depth > maxDepth) throw new EvaluationError(`expected data nested at most ${maxDepth} deep, got more; does it contain itself?`);
  if (data instanceof Text || data === undefined || data === null || typeof data === "boolean") return data;
  if (typeof data === "string") return Text.of(data, "c");
  if (typeof data === "number") return Number.isInteger(data) ? data : new Float(data);
  if (Array.isArray(data)) return new List(data.map((item) => fromData(item, depth + 1)));
  if (typeof data === "object") {
    const dict = new Dict();
    for (const [key, value] of Object.entries(data)) dict.set(Text.of(key, "c"), fromData(value, depth + 1));
    return dict;
  }
  throw new EvaluationError(`expected plain data, got a ${typeof data}`);
}

/** Total length of all strings in plain data. */
export function dataLength(data: unknown, depth = 0): number {
  if (typeof data === "string" || data instanceof Text) return data.length;
  if (typeof data !== "object" || data === null || depth > maxDepth) return 1;
  let length = 1;
  for (const [key, value] of Object.entries(data)) length += key.length + dataLength(value, depth + 1);
  return length;
}
