import type { Reference } from "../reference/referenceType.ts";

export const eye: Reference<"eye"> = (_inputs, _params, y) => {
  const [rows, columns] = y.spec.shape as [number, number];
  y.data.fill(0);
  for (let i = 0; i < Math.min(rows, columns); i++) y.data[i * columns + i] = 1;
};
