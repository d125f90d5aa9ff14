import type { Reference } from "../reference/referenceType.ts";
import { forEachWindow } from "./shared/pool.ts";

export const maxPool2d: Reference<"maxPool2d"> = ([x], params, y) => {
  forEachWindow(x, params, y, (window) => window.reduce((largest, at) => Math.max(largest, x.data[at]!), Number.NEGATIVE_INFINITY));
};
