import { ArgumentError, elementCount } from "@centella/core";
import type { Kernel, ParamsOf } from "../kernel.ts";

export const element: Kernel<ParamsOf<"element">> = {
  emit: () => undefined,
  build({ heap }, [x], { index }, y) {
    return (run) => {
      const count = elementCount(run.shape(x!));
      if (index >= count) throw new ArgumentError("element", `an index below ${count} in this run`, String(index));
      const [from, to] = [run.address(x!) / 4 + index, run.address(y) / 4];
      heap.i32[to] = heap.i32[from]!;
    };
  },
};
