import { elementAt } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";

export const dot: Reference<"dot"> = ([a, b], _params, y) => {
  let sum = 0;
  for (const [i, value] of a.data.entries()) sum += value * elementAt(b.data, i);
  y.data[0] = sum;
};
