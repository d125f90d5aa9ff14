import type { Reference } from "../reference/referenceType.ts";

export const arange: Reference<"arange"> = (_inputs, { start, step }, y) => {
  for (let i = 0; i < y.data.length; i++) y.data[i] = start + i * step;
};
