import { type HostTensor, isInteger, type Operand, type OpName, ops } from "@centella/core";
import type { Kernel, ParamsOf, Run } from "../../kernel.ts";

/** An op on f32 and i32 whose work is too little for emitted code: its definition in core, on views of the memory. */
export function hostKernel<N extends OpName>(name: N): Kernel<ParamsOf<N>> {
  const op = ops[name];
  return {
    build({ heap }, inputs, params, output) {
      const view = (run: Run, operand: Operand): HostTensor => {
        const shape = run.shape(operand);
        const at = run.address(operand) / 4;
        const end = at + shape.reduce((product, extent) => product * extent, 1);
        const { dtype } = operand.spec;
        return { spec: { dtype, shape }, data: (isInteger(dtype) ? heap.i32 : heap.f32).subarray(at, end) };
      };
      return (run) =>
        op.reference(
          inputs.map((input) => input && view(run, input)),
          params as never,
          view(run, output),
        );
    },
  };
}
