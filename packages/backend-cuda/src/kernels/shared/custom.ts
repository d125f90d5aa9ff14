import { ArgumentError, type TensorSpec } from "@centella/core";
import { type AnyOp, elementAt, entryOf, resolveSpec } from "@centella/core/backend";
import type { PtxKernel } from "../../customKernel.ts";
import { clusterOf } from "../../ptx/text.ts";
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
      checkGrid(op.name, grid, clusterOf(ptx));
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

/** @throws {ArgumentError} unless the grid consists of whole clusters: the driver would refuse the launch */
function checkGrid(op: string, grid: readonly number[], cluster: readonly number[]): void {
  if (grid.every((blocks, axis) => blocks % elementAt(cluster, axis) === 0)) return;
  const [expected, got] = [cluster, grid].map((extents) => extents.join(" x "));
  throw new ArgumentError(op, `a grid of whole clusters of ${expected} blocks`, `${got} blocks`, "round the grid up");
}
