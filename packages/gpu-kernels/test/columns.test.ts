import type { Dim, DimValues, Shape } from "@centella/core";
import { type AnyOp, completeParams, ops, resolveDim } from "@centella/core/backend";
import { expect, test } from "vitest";
import { type Emitter, type GpuKernel, type GpuScope, type GpuStep, gpuKernels, groupCount, type U32 } from "../src/index.ts";
import { columnsIn, columnTile, lanesIn, tilesIn } from "../src/rows/columnTile.ts";

const T = { name: "T", max: 300 };

/** A scope whose values are those of a run: arithmetic is done at once. */
function scopeOf(dims: DimValues): GpuScope {
  const extent = (dim: Dim): U32 => String(resolveDim(dim, dims)) as U32;
  const computed =
    (compute: (a: number, b: number) => number) =>
    (a: U32, b: U32 | number): U32 =>
      String(compute(Number(a), Number(b))) as U32;
  const k = {
    constant: (_type: string, value: number) => String(value),
    add: computed((a, b) => a + b),
    sub: computed((a, b) => a - b),
    mul: computed((a, b) => a * b),
    min: computed(Math.min),
    quotient: computed((a, b) => Math.floor(a / b)),
  };
  // Tiles use these members alone. Any other one is undefined, and a call of it fails.
  const scope = { k: k as unknown as Emitter, extent, extents: (shape: Shape) => shape.map(extent), whole: (value: number) => value };
  return scope as unknown as GpuScope;
}

const inners: readonly Shape[] = [[T], [T, 4], [T, 6], [2, T, 32], [{ name: "M", max: 7 }, T]];

test.each(inners.flatMap((inner) => [1, 3, 1000].map((rows) => [inner, rows] as const)))(
  "lanes and tiles fit the columns %j of each run, for %d rows",
  (inner, rows) => {
    const tile = columnTile(inner, rows, undefined);
    for (const [M, columns] of [1, 2, 3, 7].flatMap((m) =>
      [1, 2, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300].map((n) => [m, n] as const),
    )) {
      const scope = scopeOf({ T: columns, M });
      const tiles = Number(tilesIn(scope, tile));
      const [across, down] = Object.values(lanesIn(scope, tile, tiles)).map(Number) as [number, number];
      expect(tiles).toBe(groupCount([tile.count], (dim) => resolveDim(dim, { T: columns, M })));
      expect(tiles * across * tile.width).toBeGreaterThanOrEqual(Number(columnsIn(scope, tile)));
      expect(across).toBeLessThanOrEqual(tile.across);
      expect(across * down).toBeLessThanOrEqual(tile.lanes);
      expect(down).toBeGreaterThanOrEqual(tile.leastDown);
      expect(down).toBeLessThanOrEqual(tile.mostDown);
    }
  },
);

test("few columns have many lanes each", () => {
  const tile = columnTile([T], 4096, undefined);
  expect(Number(lanesIn(scopeOf({ T: 1 }), tile, 1).down)).toBe(256);
  expect(Number(lanesIn(scopeOf({ T: 64 }), tile, 1).down)).toBe(4);
});

/** The steps of an op along axis 1 of a tensor. */
function stepsOf(name: keyof typeof gpuKernels, shape: Shape, bucket?: DimValues): readonly GpuStep[] {
  const op: AnyOp = ops[name];
  const input = { dtype: name === "all" ? ("bool" as const) : ("f32" as const), shape };
  const params = completeParams(op, { axis: 1 });
  const call = { inputs: [input], output: op.infer([input], params), ...(bucket && { bucket }) };
  return (gpuKernels[name] as GpuKernel<object>).steps(call, params);
}

test.each(["sum", "argmax", "softmax", "cumsum", "variance", "sumKahan", "all", "logSoftmax", "prod", "max"] as const)(
  "%s reads tiles of columns where their number is that of a run",
  (name) => {
    const [first] = stepsOf(name, [2, 9, T]);
    expect(first?.name).toBe("columns");
    const groups = [0, 1, 64, 65, 300].map((columns) => groupCount(first!.shape, (dim) => resolveDim(dim, { T: columns })));
    expect(groups).toEqual([0, 2, 2, 4, 10]);
    expect(stepsOf(name, [2, 3000, T]).map((step) => step.name)[0]).toBe("columns_share");
  },
);

test("a bucket of one column has a group for each row", () => {
  expect(stepsOf("sum", [2, 9, T], { T: 1 }).map(({ name }) => name)).toEqual([""]);
  expect(stepsOf("sum", [2, 9, T], { T: 2 }).map(({ name }) => name)).toEqual(["columns"]);
});
