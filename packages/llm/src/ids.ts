import { ArgumentError } from "@centella/core";

/** @throws {ArgumentError} if there are none or one is outside the vocabulary */
export function checkIds(ids: ArrayLike<number>, vocabSize: number): number[] {
  const tokens = Array.from(ids);
  if (tokens.length === 0) throw new ArgumentError("ids", "at least one token", "none");
  const index = tokens.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize);
  if (index >= 0) throw new ArgumentError("ids", `ids from 0 to ${vocabSize - 1}`, `${tokens[index]} at ${index}`);
  return tokens;
}
