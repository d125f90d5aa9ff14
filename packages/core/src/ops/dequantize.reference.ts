import type { Reference } from "../reference/referenceType.ts";

export const dequantize: Reference<"dequantize"> = ([x], _params, y) => {
  y.data.set(x.data);
};
