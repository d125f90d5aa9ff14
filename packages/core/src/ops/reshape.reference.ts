import type { Reference } from "../reference/referenceType.ts";

export const reshape: Reference<"reshape"> = ([x], _params, y) => {
  y.data.set(x.data);
};
