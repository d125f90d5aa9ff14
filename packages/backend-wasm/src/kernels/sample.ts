import { elementCount, type HostTensor, type Operand, sampleReference } from "@centella/core";
import type { Kernel, ParamsOf, Run } from "../kernel.ts";

/** Core's definition on views of the memory: the same choice as everywhere, for its sums are in f64 and in a stated order. */
export const sample: Kernel<ParamsOf<"sample">> = {
  build({ heap }, [logits, position], params, y) {
    const view = (run: Run, operand: Operand): HostTensor => {
      const { dtype } = operand.spec;
      const [at, shape] = [run.address(operand) / 4, run.shape(operand)];
      return { spec: { dtype, shape }, data: (dtype === "i32" ? heap.i32 : heap.f32).subarray(at, at + elementCount(shape)) };
    };
    return (run) => sampleReference([view(run, logits!), view(run, position!)], params, view(run, y));
  },
};
