import type { ParamsOf } from "@centella/core";
import { isBelow, product } from "@centella/gpu-kernels";
import { input, type Kernel, launch, output } from "./shared/kernel.ts";

export const element: Kernel<ParamsOf<"element">> = {
  launches: (call, { index }) => [
    launch(call, "element", { threads: 32, blocks: 1, args: { x: input(0), y: output } }, (scope) => {
      const { k, pointer } = scope;
      const value = k.variable("u32", 0);
      const isThere = isBelow(k, index, product(k, scope.extents(call.inputs[0]!.shape)));
      k.if(isThere, () => value.set(k.load("u32", k.at("u32", pointer("x", "u32"), index))));
      k.if(k.compare("eq", k.thread(), 0), () => k.store("u32", pointer("y", "u32"), value.get()));
    }),
  ],
};
