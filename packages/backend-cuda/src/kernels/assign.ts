import { elementwise, input, type Kernel, output } from "./shared/kernel.ts";

export const assign: Kernel = {
  launches: (call) => [
    elementwise(call, "assign", { shape: call.output.shape, args: { value: input(1), target: output } }, ({ k, pointer }, index) => {
      k.store("u32", k.at("u32", pointer("target", "u32"), index), k.load("u32", k.at("u32", pointer("value", "u32"), index)));
    }),
  ],
};
