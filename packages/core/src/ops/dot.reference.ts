import type { Reference } from "../reference/referenceType.ts";

export const dot: Reference<"dot"> = ([a, b], _params, y) => {
  const [p, q] = [a.data, b.data];
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += p[i]! * q[i]!;
  y.data[0] = sum;
};
