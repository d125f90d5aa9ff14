import { contentsOf, uniform } from "@centella/conformance";
import type { DType } from "@centella/core";
import { floatToHalf, halfToFloat } from "@centella/quant";
import { isFullGrid, isWholeGrid, useSwiftShader } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { guaranteed, subgroupLanes } from "../src/device/capabilities.ts";
import { openDevice } from "../src/device/device.ts";
import { toDevice } from "../src/device/layout.ts";
import { halfBytes, halfRowsDispatch } from "../src/kernels/matrices/halfRows.ts";
import { halfArithmetic, halfChain, halfExponent, readsHalfTiles } from "../src/kernels/shared/halfTiles.ts";
import type { Binding } from "../src/kernels/shared/kernel.ts";
import { type TileParts, tileDispatch } from "../src/kernels/shared/tileProducts.ts";
import { storeText } from "../src/wgsl/epilogue.ts";
import { input } from "../src/wgsl/module.ts";
import { describeOpened } from "./describeOpened.ts";
import { emulatedHalves } from "./emulatedHalves.ts";
import { runDispatches } from "./runDispatches.ts";

useSwiftShader();

const depth = 256;

/** Unit roundoff of halves. */
const u = 2 ** -11;

interface Problem {
  readonly m: number;
  readonly n: number;
  readonly rows: Float32Array;
  readonly dtype: DType;
  readonly stored: Parameters<typeof toDevice>[1];
  readonly weights: ArrayLike<number>;
}

function problemOf(dtype: DType, m: number, n: number): Problem {
  const { stored, decoded } = contentsOf({ dtype, shape: [n, depth] }, 3);
  return { m, n, rows: uniform(7, m * depth), dtype, stored, weights: decoded };
}

/** Exact products, the sums of their magnitudes, and products of operands that are rounded to halves. */
function productsOf({ m, n, rows, weights }: Problem) {
  const [exact, magnitudes, rounded] = [0, 1, 2].map(() => new Float64Array(m * n)) as [Float64Array, Float64Array, Float64Array];
  const half = (value: number): number => halfToFloat(floatToHalf(value));
  const [a, b] = [rows, weights].map((values) => Float64Array.from(values, half)) as [Float64Array, Float64Array];
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      for (let k = 0; k < depth; k++) {
        const product = rows[i * depth + k]! * weights[j * depth + k]!;
        exact[i * n + j]! += product;
        magnitudes[i * n + j]! += Math.abs(product);
        rounded[i * n + j]! += a[i * depth + k]! * b[j * depth + k]!;
      }
    }
  }
  return { exact, magnitudes, rounded };
}

const distance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Math.sqrt(Array.from(a).reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0));
const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => Array.from(a).reduce((sum, value, i) => sum + value * b[i]!, 0);

await describeOpened("tiles of halves, emulated by floats", openDevice({}), ({ device, capabilities }) => {
  afterAll(() => device.destroy());

  const computed = async ({ m, n, rows, dtype, stored }: Problem, perLane: 4 | 8): Promise<Float32Array> => {
    const a = { dtype: "f32", shape: [m, depth] } as const;
    const halves: Binding = { name: "a", resource: { kind: "scratch", bytes: halfBytes(a) }, access: "read", element: "vec4u" };
    const options = { least: 1, subgroup: subgroupLanes(capabilities), exponent: halfExponent };
    const parts: TileParts = {
      left: halves,
      isPacked: false,
      dtype,
      depth,
      columns: n,
      store: storeText(undefined),
      rowsIn: () => m,
      arithmetic: halfArithmetic(emulatedHalves),
    };
    const bound = [
      {
        dispatch: halfRowsDispatch(a, { binding: input("a", 0), blocks: undefined }, halves, options),
        buffers: { a: "rows", y: "halves" },
      },
      { dispatch: tileDispatch(parts, perLane, () => true), buffers: { a: "halves", b: "b", y: "y" } },
    ];
    const contents = {
      rows: new Uint8Array(rows.buffer as ArrayBuffer),
      halves: halfBytes(a),
      b: Uint8Array.from(toDevice({ dtype, shape: [n, depth] }, stored)),
      y: 4 * m * n,
    };
    const [y] = await runDispatches(device, bound, contents, ["y"]);
    return new Float32Array(y!);
  };

  // Tiles have 64 or 128 rows, and 128 columns: some are partial.
  test.each([
    ["f16", 4, 70, 140],
    ["q8_0", 8, 140, 129],
    ["q4_K", 4, 65, 33],
    ...(isFullGrid
      ? ([
          ["f16", 8, 130, 45],
          ["mxfp4", 4, 65, 33],
        ] as const)
      : []),
    ...(isWholeGrid
      ? ([
          ["q4_0", 4, 67, 130],
          ["q6_K", 4, 65, 33],
          ["q5_1", 4, 65, 33],
        ] as const)
      : []),
  ] as const)("of weights of %s, %d rows in a lane, keep the bounds of their errors: %d by %d", async (dtype, perLane, m, n) => {
    const problem = problemOf(dtype, m, n);
    const got = await computed(problem, perLane);
    const { exact, magnitudes, rounded } = productsOf(problem);
    const worst = Math.max(...exact.map((value, i) => Math.abs(got[i]! - value) / magnitudes[i]!));
    expect(worst).toBeLessThan((2 + halfChain) * u);
    // Halves have the weights of some types exactly, but for a power of two.
    const perProduct = dtype === "f16" || dtype === "mxfp4" ? 1 : 2;
    const expected = Math.sqrt((perProduct + (halfChain + 1) / 2) / perProduct);
    expect(distance(got, exact)).toBeLessThan(1.3 * expected * distance(rounded, exact));
    expect(dot(got, exact) / Math.sqrt(dot(got, got) * dot(exact, exact))).toBeGreaterThan(0.999999);
  });

  test("choose the element that is the greatest", async () => {
    const problem = problemOf("f16", 100, 128);
    const got = await computed(problem, 8);
    const { exact } = productsOf(problem);
    const best = (values: ArrayLike<number>, row: number): number => {
      const own = Array.from(values).slice(row * 128, row * 128 + 128);
      return own.indexOf(Math.max(...own));
    };
    const same = Array.from({ length: 100 }, (_, row) => best(got, row) === best(exact, row)).filter(Boolean);
    expect(same.length / 100).toBeGreaterThanOrEqual(0.99);
  });

  test("cannot overflow, and keep small rows and weights: those of any size are scaled", async () => {
    const problem = problemOf("f16", 66, 20);
    const rowSizes = [65504, 2 ** 30, 2 ** -30, 0, 2 ** 100];
    // Rows of equal signs add up most.
    const rows = problem.rows.map((value, i) => Math.abs(value) * rowSizes[Math.floor(i / depth) % rowSizes.length]!);
    const columnSizes = [65504, 1, 2 ** -10, 0];
    const weights = Array.from(problem.weights, (value, i) => {
      const size = columnSizes[Math.floor(i / depth) % columnSizes.length]!;
      return halfToFloat(floatToHalf((size * Math.abs(value)) % 65504));
    });
    const stored = Uint16Array.from(weights, floatToHalf);
    const extreme = { ...problem, rows, weights, stored };
    const got = await computed(extreme, 4);
    const { exact, magnitudes } = productsOf(extreme);
    got.forEach((value, i) => {
      expect(Math.abs(value - exact[i]!)).toBeLessThanOrEqual((2 + halfChain) * u * magnitudes[i]!);
    });
  });
});

test("halves are multiplied in mode half, with weights of f16 and of blocks, where subgroups multiply no matrices", () => {
  const capabilities = { ...guaranteed, f16: true };
  const reads = (dtype: DType, activations: "f32" | "half" | "ggml", k = 256, own = capabilities): boolean =>
    readsHalfTiles({ dtype }, k, { activations }, own);
  expect(reads("f16", "half")).toBe(true);
  expect(reads("q4_K", "half")).toBe(true);
  expect(reads("f16", "ggml")).toBe(false);
  expect(reads("f16", "f32")).toBe(false);
  expect(reads("bf16", "half")).toBe(false);
  expect(reads("f32", "half")).toBe(false);
  expect(reads("f16", "half", 40)).toBe(false);
  expect(reads("f16", "half", 256, guaranteed)).toBe(false);
  const subgroupMatrices = [{ type: "f16", resultType: "f32", m: 16, n: 16, k: 16 }];
  const matrices = { ...capabilities, subgroups: { min: 32, max: 32 }, subgroupMatrices };
  expect(readsHalfTiles({ dtype: "f16" }, 256, { activations: "half" }, matrices)).toBe(false);
});
