import { createProgram, type DType } from "@centella/core";
import { expect, test } from "vitest";
import { generatePtx } from "../src/generatePtx.ts";
import { unitFormat, unitRows } from "../src/weights/unitFormat.ts";
import { half } from "./unitProducts.ts";

// Most instructions of threads per weight, without moves between registers, in the loop that takes the weights. A multiprocessor issues 3.9 per weight
// of q4_K while it reads them at 4.3 TB/s, and more of larger types.
const oneRow = {
  q4_K: 1.8,
  q5_K: 2.6,
  q6_K: 3.2,
  q8_0: 1.5,
  q4_0: 1.4,
  f16: 1.1,
  q1_0: 1.7,
  q2_0: 1.6,
  q2_K: 2.5,
  q3_K: 2.8,
  iq4_nl: 2.6,
  iq4_xs: 2.7,
  iq2_xs: 3.1,
  mxfp4: 2.75,
  nvfp4: 3.3,
} as const;
const sixteenRows = { q4_K: 4.5, q5_K: 5.3, q6_K: 5, q8_0: 3.4, q4_0: 3.5, f16: 1.7, iq4_xs: 5.3, iq2_xs: 5.5 } as const;
const manyRows = { q4_K: 6.6, q5_K: 7.4, q6_K: 6.4, q8_0: 4.7, q4_0: 4.8, iq4_xs: 6.2, iq2_xs: 6.8 } as const;

const families = [
  { name: "one row", rows: 1, entry: "matmulFew", budgets: oneRow },
  { name: "16 rows", rows: 16, entry: "matmulMixed", budgets: sixteenRows },
  { name: "many rows, which decodes them,", rows: 1024, entry: "decodeUnits", budgets: manyRows },
];

const cases = families.flatMap(({ name, rows, entry, budgets }) =>
  Object.entries(budgets).map(([dtype, budget]) => [name, dtype as DType, budget, rows, entry] as const),
);

test.each(cases)("a product of %s with a weight of %s takes at most %d instructions per weight", (_name, dtype, budget, rows, entry) => {
  const program = createProgram();
  const x = program.input("x", "f32", [rows, 4096]);
  program.output("y", program.matmul(x, program.persistent("w", { dtype, shape: [4096, 4096] }), half));
  const { ptx } = generatePtx(program).find((launch) => launch.entry.startsWith(entry))!;
  const count = instructionsPerWeight(ptx, dtype);
  expect(count).toBeLessThanOrEqual(budget);
  expect(count).toBeGreaterThan(0.7 * budget);
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
