import { ArgumentError } from "@centella/core";
import { check, describe, isAttached, type Kind, kind, whole } from "@centella/quant/checks";

/** A list of numbers: an array, a typed array or another array-like object. */
export const numbers: Kind = kind(
  "a list of numbers",
  (value) =>
    typeof value === "object" &&
    value !== null &&
    whole(0).accepts((value as ArrayLike<number>).length) &&
    !(ArrayBuffer.isView(value) && !isAttached(value)),
);

/** Checks ids. @throws {ArgumentError} if the list is empty or an id is outside the vocabulary */
export function checkIds(ids: ArrayLike<number>, vocabSize: number): number[] {
  const { length } = check("ids", "ids", ids, numbers);
  if (length === 0) throw new ArgumentError("ids", "at least one token", "none");
  // Checked one by one, because an object may claim any length.
  const tokens: number[] = [];
  for (let i = 0; i < length; i++) {
    const id = ids[i]!;
    if (!Number.isInteger(id) || id < 0 || id >= vocabSize)
      throw new ArgumentError("ids", `ids from 0 to ${vocabSize - 1}`, `${describe(id)} at ${i}`);
    tokens.push(id);
  }
  return tokens;
}
