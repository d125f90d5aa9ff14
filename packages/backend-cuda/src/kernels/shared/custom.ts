import { ArgumentError, type ConcreteSpec, type TensorSpec } from "@centella/core";
import { type AnyOp, elementAt, entryOf, resolveSpec } from "@centella/core/backend";
import type { PtxKernel, PtxMap } from "../../customKernel.ts";
import { clusterOf } from "../../ptx/text.ts";
import { type ArgumentMap, input, type Kernel, output } from "./kernel.ts";

/** Most rows of a box of a tensor map. */
const mostBoxRows = 256;

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
      const resolved = specs.map((spec) => resolveSpec(spec, dims));
      const resolvedOutput = resolveSpec(y, dims);
      const {
        ptx,
        entry,
        grid,
        block,
        sharedBytes = 0,
        maps = [],
      } = launch({
        inputs: resolved,
        params,
        output: resolvedOutput,
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
          isCustom: true,
          isDependent: false,
          readsOutputs: true,
          args: [...op.inputs.map((_, i) => input(i)), output, { kind: "dims" }],
          maps: maps.map((map) => argumentMap(op, [...resolved, resolvedOutput], map)),
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

/**
 * A map of an argument of an op, whose specs are those of its inputs and its output.
 * @throws {ArgumentError} for a map that the driver would refuse, or that leaves its tensor
 */
function argumentMap({ name, inputs }: AnyOp, specs: readonly ConcreteSpec[], { input: of, columns, rows, boxRows }: PtxMap): ArgumentMap {
  const argument = of === undefined ? inputs.length : inputs.indexOf(of);
  const spec = specs[argument];
  if (spec === undefined || !["f16", "bf16"].includes(spec.dtype)) {
    const got = `${of ?? "the output"}${spec === undefined ? "" : ` of ${spec.dtype}`}`;
    throw new ArgumentError(name, "a tensor map of an input or output of f16 or bf16", got);
  }
  const elements = spec.shape.reduce((product, extent) => product * extent, 1);
  const isWithin = [columns, rows, boxRows].every((extent) => Number.isInteger(extent) && extent > 0) && columns * rows <= elements;
  if (!isWithin || columns % 8 !== 0 || boxRows > mostBoxRows) {
    const expected = `a tensor map of at most ${elements} elements in rows of a multiple of 8, with boxes of 1 to ${mostBoxRows} rows`;
    throw new ArgumentError(name, expected, `${rows} x ${columns} elements with boxes of ${boxRows} rows`);
  }
  return { argument, columns, rows, boxRows };
}
