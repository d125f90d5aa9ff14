import type { Reference } from "../reference/referenceType.ts";
import { roundValue } from "./shared/values.ts";

export const full: Reference<"full"> = (_inputs, { value, dtype }, y) => {
  y.data.fill(roundValue(dtype, value));
};
