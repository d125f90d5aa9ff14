import { deviceBytes, divide, product, timesPlus, type U32 } from "@centella/gpu-kernels";
import type { Global } from "../../ptx/types.ts";
import { input, type KernelCall, type Launch, launch, output } from "./kernel.ts";

/** The launch of one block that copies a call's input to its output, whose specs are equal. */
export function tensorCopy(call: KernelCall): Launch {
  const { dtype, shape } = call.output;
  const isFixed = shape.map((dim) => typeof dim === "number");
  const bytes = deviceBytes({ dtype, shape: shape.filter((dim) => typeof dim === "number") });
  // Words of smaller elements may be more than the tensor has.
  const [elem, type, unit] = bytes % 4 === 0 ? (["u32", "u32", 4] as const) : (["b16", "f16", 2] as const);
  const args = { from: { ...input(0), dtype: type }, to: { ...output, dtype: type } };
  return launch(call, "copyTensor", { blocks: 1, args }, ({ k, extents, pointer }) => {
    const symbolic = extents(shape).filter((_, axis) => !isFixed[axis]);
    const [units] = divide(k, timesPlus(k, product(k, symbolic), bytes, unit - 1), unit);
    const at = (name: string, index: U32): Global<typeof elem> => k.at(elem, pointer(name, elem), index);
    k.for(k.thread(), units, k.blockThreads, (index) => k.st(elem, at("to", index), k.ld(elem, at("from", index))));
  });
}
