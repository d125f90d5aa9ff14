import type { Reference } from "../references.ts";

export const assign: Reference<"assign"> = ([, value], _params, y) => {
  y.data.set(value!.data);
};
