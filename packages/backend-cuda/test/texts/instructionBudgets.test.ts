import { createProgram, type DType } from "@centella/core";
import { describe, expect, test } from "vitest";
import { generatePtx } from "../../src/generatePtx.ts";
import type { Gpu } from "../../src/kernels/shared/gpu.ts";
import { unitFormat, unitRows } from "../../src/weights/unitFormat.ts";
import { half, type UnitType, unitTypes } from "../kernels/unitProducts.ts";
import { call, f32, launchesOf } from "./kernelTexts.ts";

/**
 * Most instructions of threads per weight, without moves between registers, in the loop that takes the weights: of one row, of 16 rows, and of many
 * rows, which decode weights first. Those of f16 and bf16 are not decoded. A multiprocessor issues 3.9 per weight of q4_K while it reads them at
 * 4.3 TB/s, and more of larger types.
 */
const budgets: Readonly<Partial<Record<UnitType, readonly [one: number, sixteen: number, many?: number]>>> = {
  f16: [1.1, 1.65],
  bf16: [1.1, 1.65],
  q4_0: [1.4, 3.4, 4.75],
  q4_1: [1.5, 3.85, 6.05],
  q5_0: [2.15, 4.2, 5.5],
  q5_1: [2.25, 4.6, 6.8],
  q8_0: [1.5, 3.35, 4.65],
  q1_0: [1.7, 3.75, 4.9],
  q2_0: [1.65, 3.45, 4.8],
  q2_K: [2.55, 4.45, 7.6],
  q3_K: [2.85, 4.75, 6.35],
  q4_K: [1.85, 4.05, 6.6],
  q5_K: [2.6, 4.8, 7.4],
  q6_K: [2.85, 4.75, 6.35],
  tq1_0: [1.65, 3.45, 4.8],
  tq2_0: [1.65, 3.45, 4.8],
  iq1_s: [2.75, 5.1, 6.2],
  iq1_m: [3.15, 5.2, 6.8],
  iq2_xxs: [2.75, 5.1, 6.2],
  iq2_xs: [3.15, 5.2, 6.8],
  iq2_s: [3.15, 5.2, 6.8],
  iq3_xxs: [2.75, 5.1, 6.2],
  iq3_s: [2.75, 5.1, 6.2],
  iq4_nl: [2.65, 4.65, 6],
  iq4_xs: [2.75, 5.1, 6.2],
  mxfp4: [2.75, 5.05, 6.35],
  nvfp4: [3.35, 5.9, 7.35],
};

const families = [
  { name: "one row", rows: 1, entry: "matmulFew" },
  { name: "16 rows", rows: 16, entry: "matmulMixed" },
  { name: "many rows, which decodes them,", rows: 1024, entry: "decodeUnits" },
];

const cases = families.flatMap(({ name, rows, entry }, family) =>
  unitTypes.flatMap((dtype) => {
    const budget = budgets[dtype]?.[family];
    return budget === undefined ? [] : [[name, dtype, budget, rows, entry] as const];
  }),
);

test("every type of unit has budgets", () => {
  expect(Object.keys(budgets).toSorted()).toEqual(unitTypes.toSorted());
});

test.each(cases)("a product of %s with a weight of %s takes at most %d instructions per weight", (_name, dtype, budget, rows, entry) => {
  const program = createProgram();
  const x = program.input("x", "f32", [rows, 4096]);
  program.output("y", program.matmul(x, program.persistent("w", { dtype, shape: [6144, 4096] }), half));
  const { ptx } = generatePtx(program).find((launch) => launch.entry.startsWith(entry))!;
  const count = instructionsPerWeight(ptx, dtype);
  expect(count).toBeLessThanOrEqual(budget);
  // A loop that is much shorter is another one.
  expect(count).toBeGreaterThan(0.9 * budget);
});

/** Instructions of the shortest loop that multiplies, or else waits for copies and then decodes a unit, per weight that a lane takes in it. */
function instructionsPerWeight(ptx: string, dtype: DType): number {
  const lines = ptx.split("\n");
  const bodies = loopsOf(lines).map((body) => body.filter((line) => line.startsWith("  ") && !line.startsWith("  mov.")));
  const productsOf = (body: readonly string[]): number => body.filter((line) => /mma\.sync|wgmma\.mma_async/.test(line)).length;
  const multiplying = bodies.filter((body) => productsOf(body) > 0);
  const waiting = bodies.filter((body) => body.length > 10 && body.some((line) => line.includes("mbarrier.try_wait")));
  const [body] = (multiplying.length > 0 ? multiplying : waiting).toSorted((a, b) => a.length - b.length);
  // A product takes 16 x 16 weights from the 32 lanes.
  const weights = multiplying.length > 0 ? productsOf(body!) * 16 * 16 : unitRows * unitFormat(dtype)!.width;
  return body!.length / (weights / 32);
}

/** The lines of each loop, from its label to the branch back. */
function loopsOf(lines: readonly string[]): readonly (readonly string[])[] {
  return lines.flatMap((line, end) => {
    const label = /bra (\$L\d+);/.exec(line)?.[1];
    const start = label === undefined ? -1 : lines.indexOf(`${label}:`);
    return start >= 0 && start < end ? [lines.slice(start, end + 1)] : [];
  });
}

describe("without bulk copies", () => {
  const ampere: Gpu = { target: "sm_80", multiprocessors: 108, sharedBytes: 163 * 1024, dependentLaunch: false };
  // By type: one row, and eight.
  const budgets: Readonly<Record<string, readonly [number, number]>> = {
    q4_0: [1.45, 2],
    q4_1: [1.55, 2.5],
    q5_0: [2.2, 2.75],
    q5_1: [2.35, 3.3],
    q8_0: [1.65, 2],
    q2_K: [2.5, 4.15],
    q3_K: [2.85, 3.45],
    q4_K: [1.85, 3.05],
    q5_K: [2.65, 3.85],
    q6_K: [2.95, 3.5],
    iq2_xxs: [2.8, 3.4],
    iq2_xs: [3.2, 4],
    iq3_xxs: [2.8, 3.4],
    iq1_s: [2.8, 3.4],
    iq4_nl: [2.7, 3.25],
    iq3_s: [2.8, 3.4],
    iq2_s: [3.2, 4],
    iq4_xs: [2.75, 3.4],
    iq1_m: [3.2, 4],
    tq1_0: [1.65, 2],
    tq2_0: [1.65, 2],
    mxfp4: [2.8, 3.6],
    nvfp4: [3.35, 4.55],
    q1_0: [1.7, 2.1],
    q2_0: [1.65, 2],
    f16: [1.35, 2.5],
    bf16: [1.35, 2.5],
  };
  const casesOfRows = ([1, 8] as const).flatMap((rows, i) =>
    Object.entries(budgets).map(([dtype, budget]) => [rows, dtype as DType, budget[i]!] as const),
  );

  test.each(casesOfRows)("a product of %i rows with a weight of %s takes at most %d instructions per weight", (rows, dtype, budget) => {
    const product = call("matmul", [f32(rows, 4096), { dtype, shape: [4096, 4096] }], half);
    const launches = launchesOf(product, ampere);
    expect(launches.map(({ entry }) => entry)).toEqual([`matmulFew_${dtype}`]);
    const count = instructionsPerWeight(launches[0]!.ptx, dtype);
    expect(count).toBeLessThanOrEqual(budget);
    expect(count).toBeGreaterThan(0.7 * budget);
  });
});
