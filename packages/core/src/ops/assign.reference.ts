import type { Reference } from "../reference/referenceType.ts";

export const assign: Reference<"assign"> = ([, value], _params, y) => {
  y.data.set(value.data);
};
