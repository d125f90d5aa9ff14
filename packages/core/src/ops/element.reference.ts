import { ArgumentError } from "../errors.ts";
import type { Reference } from "../reference/referenceType.ts";

export const element: Reference<"element"> = ([x], { index }, y) => {
  const value = x.data[index];
  if (value === undefined)
    throw new ArgumentError("element", `an index below ${x.data.length} in this run`, String(index), "use one of them");
  y.data[0] = value;
};
