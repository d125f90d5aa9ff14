import type { TensorSpec } from "@centella/core";
import { type AnyOp, entryOf, resolveSpec } from "@centella/core/backend";
import type { PtxKernel } from "../../customKernel.ts";
import { input, type Kernel, output } from "./kernel.ts";

/** The kernel that came with an op of the user's own: one launch. */
export function customKernel(op: AnyOp, { launch }: PtxKernel): Kernel {
  return {
    launches({ inputs, output: y, slots, bucket }, params) {
      const specs = inputs as readonly TensorSpec[];
      // Dims that the run does not bucket are at their maxima.
      const dims = Object.fromEntries(
        [...specs, y]
          .flatMap(({ shape }) => shape)
          .flatMap((dim) => (typeof dim === "number" ? [] : [[dim.name, bucket[dim.name] ?? dim.max]])),
      );
      const {
        ptx,
        entry,
        grid,
        block,
        sharedBytes = 0,
      } = launch({
        inputs: specs.map((spec) => resolveSpec(spec, dims)),
        params,
        output: resolveSpec(y, dims),
        symbolic: { inputs: specs, output: y },
        dimOffset: (name) => 4 * entryOf(slots, name),
      });
      return [
        {
          ptx,
          entry,
          grid,
          block,
          sharedBytes,
          isDependent: false,
          args: [...op.inputs.map((_, i) => input(i)), output, { kind: "dims" }],
          maps: [],
        },
      ];
    },
  };
}
