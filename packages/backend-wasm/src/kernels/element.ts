import { ArgumentError } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import type { Kernel } from "../kernel.ts";

export const element: Kernel<"element"> = {
  build({ exports }, [x], { index }, y) {
    const copy = exports("decode.f32");
    return (run) => {
      const count = elementCount(run.shape(x));
      if (index >= count) throw new ArgumentError("element", `an index below ${count} in this run`, String(index));
      copy(run.address(x) + 4 * index, run.address(y), 1);
    };
  },
};
