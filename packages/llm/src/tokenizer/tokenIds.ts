import { ArgumentError } from "@centella/core";
import { check, describe, isAttached, type Kind, kind, whole } from "@centella/quant/checks";
import type { Tokenizer } from "./tokenizer.ts";

/** A list of numbers: an array, a typed array or another array-like object. */
export const numberList: Kind = kind(
  "a list of numbers",
  (value) =>
    typeof value === "object" &&
    value !== null &&
    whole(0).accepts((value as ArrayLike<number>).length) &&
    !(ArrayBuffer.isView(value) && !isAttached(value)),
);

/** Returns ids as an array. @throws {ArgumentError} if the list is empty or an id is outside the vocabulary */
export function checkIds(ids: ArrayLike<number>, vocabSize: number): number[] {
  const { length } = check("ids", "ids", ids, numberList);
  if (length === 0) throw new ArgumentError("ids", "at least one token", "none");
  // Checked one by one, because an object may claim any length.
  const tokens: number[] = [];
  for (let i = 0; i < length; i++) {
    const id = ids[i];
    if (id === undefined || !Number.isInteger(id) || id < 0 || id >= vocabSize)
      throw new ArgumentError("ids", `ids from 0 to ${vocabSize - 1}`, `${describe(id)} at ${i}`);
    tokens.push(id);
  }
  return tokens;
}

/** Ids that begin with exactly one BOS if the model wants one. */
export function withBos(tokenizer: Tokenizer, ids: Int32Array): Int32Array {
  const { addBos, bosId } = tokenizer;
  if (!addBos || bosId === undefined || ids[0] === bosId) return ids;
  const longer = new Int32Array(ids.length + 1);
  longer.fill(bosId, 0, 1);
  longer.set(ids, 1);
  return longer;
}
