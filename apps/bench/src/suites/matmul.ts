import { type Backend, createProgram } from "@centella/core";
import { measure, randomData } from "../measure.ts";
import { formatTable } from "../table.ts";

const sizes: readonly (readonly [m: number, k: number, n: number])[] = [
  [64, 64, 64],
  [128, 128, 128],
  [256, 256, 256],
  [512, 512, 512],
  [1024, 1024, 1024],
  [1, 4096, 4096],
  [128, 768, 3072],
];

/** Flops above which the scalar reference is left out: it would take minutes and tell nothing. */
const referenceLimit = 2 * 256 ** 3;

/**
 * f32 matmul as a replayed plan: the weights live on the backend; each run uploads `a` and reads the product back.
 * Rates count a multiply-add as two flops.
 */
export async function matmul(backends: readonly Backend[]): Promise<string> {
  const rows: string[][] = [];
  for (const [m, k, n] of sizes) {
    const cells: string[] = [];
    for (const backend of backends) {
      if (backend.name === "reference" && 2 * m * k * n > referenceLimit) cells.push("–");
      else cells.push(await gflops(backend, m, k, n));
    }
    rows.push([`${m} × ${k} × ${n}`, ...cells]);
  }
  return formatTable(["matmul m × k × n, GFLOP/s (median)", ...backends.map(({ name }) => name)], rows);
}

async function gflops(backend: Backend, m: number, k: number, n: number): Promise<string> {
  const program = createProgram();
  const a = program.input("a", "f32", [m, k]);
  const b = program.persistent("b", { dtype: "f32", shape: [k, n] });
  program.output("y", program.matmul(a, b));
  const plan = await backend.compile(program);
  try {
    const weights = randomData(k * n, 1);
    await plan.load("b", { size: weights.byteLength, read: async (offset, length) => new Uint8Array(weights.buffer, offset, length) });
    const data = randomData(m * k, 2);
    const { median } = await measure(async () => {
      const { y } = plan.run({ a: data });
      await y!.data();
      y!.dispose();
    });
    return ((2 * m * k * n) / median / 1e9).toFixed(1);
  } finally {
    plan.dispose();
  }
}
