import type { Reference } from "../references.ts";

export const dequantize: Reference<"dequantize"> = ([x], _params, y) => {
  y.data.set(x!.data);
};
