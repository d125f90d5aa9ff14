import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";

export const embedding: Reference<"embedding"> = ([table, ids], _params, y) => {
  const [rows, d] = table.spec.shape as readonly [number, number];
  ids.data.forEach((id, i) => {
    if (id < 0 || id >= rows)
      throw new ArgumentError("embedding", `ids from 0 to ${rows - 1}`, `${id} at ${i}`, "correct the ids, or take a larger table");
    y.data.set(table.data.subarray(id * d, (id + 1) * d), i * d);
  });
};
