import type { Reference } from "../reference/referenceType.ts";
import { forEachWindow } from "./shared/pool.ts";

export const avgPool2d: Reference<"avgPool2d"> = ([x], params, y) => {
  const [kh, kw] = params.kernel;
  forEachWindow(x, params, y, (window) => {
    const sum = window.reduce((total, at) => total + x.data[at]!, 0);
    return sum / (params.countPadding ? kh * kw : window.length);
  });
};
