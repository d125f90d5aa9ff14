import { elementAt, isQuantized, tupleOf } from "@centella/core/backend";
import { activationType, isHalf } from "@centella/quant";
import { asValue, plus, timesPlus, unflatten } from "../extent.ts";
import { type GpuArgument, type GpuKernelOf, input, output } from "../kernel.ts";
import { roundActivationsStep } from "../roundActivations.ts";
import { dimAt } from "../rows/rows.ts";
import { roundedTo } from "../shared/dtypes.ts";

const lanes = 64;

/** Rows of an expert that a group multiplies by one vector, which it reads once. */
const rowsPerGroup = 4;

/** Products with experts: a group of lanes reads four rows of an expert, weight by weight. */
export const moeMatmul: GpuKernelOf<"moeMatmul"> = {
  steps: (call, { activations }) => {
    const [x, experts, ids] = call.inputs;
    const [, rows] = experts.shape as [number, number, number];
    const isPerExpert = x.shape.length === 3;
    const { dtype } = experts;
    const rounding = activations === "ggml" && isHalf(dtype) ? dtype : undefined;
    // Vectors that are rounded to 8-bit blocks are rounded once, in temporary memory.
    const type = activations === "ggml" && isQuantized(dtype) ? activationType[dtype] : undefined;
    const rounded: GpuArgument = { kind: "scratch", dtype: "f32", elements: x.shape };
    const rows8 = type === undefined ? [] : [roundActivationsStep(x, type, false, { a: input(call, 0), y: rounded })];
    return [
      ...rows8,
      {
        kind: "groups",
        name: `${dtype}${rounding === undefined ? "" : "_rounded"}${isPerExpert ? "_each" : ""}`,
        args: { x: type === undefined ? input(call, 0) : rounded, experts: input(call, 1), ids: input(call, 2), y: output(call) },
        shape: [...ids.shape, Math.ceil(rows / rowsPerGroup)],
        lanes,
        body: (scope, group) => {
          const { k } = scope;
          const [count, n, depth] = scope.extents(tupleOf(experts.shape, 3));
          const [pair, part] = unflatten(k, group, [1, scope.whole(Math.ceil(rows / rowsPerGroup))]);
          const [token] = unflatten(k, pair, [1, scope.extent(dimAt(ids, 1))]);
          const id = k.bitcast("u32", k.loadInteger("ids", asValue(k, pair)));
          const first = k.mul(asValue(k, part), rowsPerGroup);
          const sums = Array.from({ length: rowsPerGroup }, () => k.variable("f32", 0));
          // As unsigned, a negative id is beyond the experts too. Such products are 0.
          k.if(k.compare("lt", id, count), () => {
            const from = timesPlus(k, isPerExpert ? pair : token, depth, 0);
            // Rows past the last one repeat it and are not stored.
            const products = sums.map((sum, i) => {
              const row = k.min(k.add(first, i), k.sub(asValue(k, n), 1));
              return { sum, start: asValue(k, timesPlus(k, timesPlus(k, id, n, row), depth, 0)) };
            });
            if (isQuantized(dtype)) {
              k.for(k.mul(k.lane(), 4), depth, 4 * lanes, (p) => {
                const values = k.loadVector("x", asValue(k, plus(k, from, p)));
                for (const { sum, start } of products) {
                  const weights = k.loadVector("experts", k.add(start, p));
                  for (const [j, weight] of weights.entries()) sum.set(k.fma(elementAt(values, j), weight, sum.get()));
                }
              });
            } else {
              k.for(k.lane(), depth, lanes, (p) => {
                const exact = k.load("x", asValue(k, plus(k, from, p)));
                const value = rounding === undefined ? exact : roundedTo(k, rounding, exact);
                for (const { sum, start } of products) sum.set(k.fma(value, k.load("experts", k.add(start, p)), sum.get()));
              });
            }
          });
          const reduce = k.reducer(sums.map(() => "f32" as const));
          const partial = sums.map((sum) => sum.get());
          reduce(partial, (a, b) => a.map((each, i) => k.add(each, elementAt(b, i)))).forEach((total, i) => {
            const row = k.add(first, i);
            k.if(k.both(k.compare("eq", k.lane(), i), k.compare("lt", row, n)), () =>
              k.store("y", asValue(k, timesPlus(k, pair, n, row)), total),
            );
          });
        },
      },
    ];
  },
};
