import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";

export const assign: Reference<"assign"> = ([, value, indices], _params, y) => {
  if (indices === undefined) {
    y.data.set(value.data);
    return;
  }
  const [n = 0, ...row] = y.spec.shape;
  const width = elementCount(row);
  indices.data.forEach((index, i) => {
    if (index === -1) return;
    if (index < 0 || index >= n)
      throw new ArgumentError("assign", `indices from -1 to ${n - 1}`, `${index} at ${i}`, "correct the indices");
    y.data.set(value.data.subarray(i * width, (i + 1) * width), index * width);
  });
};
