import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { createProgram, type DType, type ParamsOf, type TypedArray } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

type Capability = readonly [major: number, minor: number];

interface Form {
  readonly weights: readonly [queries: DType, keys: DType, values: DType];
  readonly cache: "f32" | "f16" | "q8_0";
  readonly heads: readonly [queries: number, keys: number];
  readonly widths: readonly [keys: number, values: number];
  readonly rope?: Partial<ParamsOf<"rope">>;
  readonly hasNorm?: boolean;
  readonly hasFactors?: boolean;
  /** Elements of a head of queries. Default: as many as of one of keys. */
  readonly queryWidth?: number;
  /** Whether the values are the keys before their rotation. */
  readonly keysAreValues?: boolean;
}

const depth = 256;
const slotCount = 17;

/** Queries, keys and values of `rows` tokens. If the products are results of the program, they are launches of their own. */
async function results(
  form: Form,
  rows: number,
  isApart: boolean,
  // With products of warpgroups, several rows are launches of their own.
  capability: Capability = rows === 1 ? [9, 0] : [10, 0],
): Promise<{ readonly launches: number; readonly data: readonly TypedArray[] }> {
  const { weights, cache: cacheType, rope, hasNorm = false, hasFactors = false, keysAreValues = false } = form;
  const {
    heads: [queryHeads, keyHeads],
    widths: [dK, dV],
    queryWidth: dQ = dK,
  } = form;
  const program = createProgram();
  const T = program.dim("T", 16);
  const x = program.input("x", "f32", [T, depth]);
  const [positions, slots] = [program.input("positions", "i32", [T]), program.input("slots", "i32", [T])];
  const freqFactors = hasFactors ? program.input("factors", "f32", [(rope?.dims ?? dK) / 2]) : undefined;
  const a = hasNorm ? program.rmsNorm(x, program.input("w", "f32", [depth]), { eps: 1e-5 }) : x;
  const columns = [queryHeads * dQ, keyHeads * dK, ...(keysAreValues ? [] : [keyHeads * dV])];
  const specs = columns.map((n, i) => ({ dtype: weights[i]!, shape: [n, depth] as const }));
  const [q, k, v = k] = specs.map((spec, i) => {
    const product = program.matmul(a, program.persistent(`w${i}`, spec), { transposeB: true, activations: "half" });
    if (isApart) program.output(`product${i}`, product);
    return product;
  });
  const turn = { ropeType: "norm", ...rope, ...(freqFactors && { freqFactors }) } as const;
  const rotated = program.rope(program.reshape(q!, { shape: [T, queryHeads, dQ] }), positions, turn);
  const keys = program.rope(program.reshape(k!, { shape: [T, keyHeads, dK] }), positions, turn);
  const cache = program.persistent("cache", { dtype: cacheType, shape: [slotCount, keyHeads, dK + dV] }, { init: "zeros" });
  program.output("cache", program.kvWrite(cache, keys, program.reshape(v!, { shape: [T, keyHeads, dV] }), slots));
  program.output("queries", program.scale(rotated, { by: 2 }));
  const driver = new InterpretedDriver(capability);
  const backend = new CudaBackend(driver);
  const plan = await backend.compile(program);
  for (const [i, spec] of specs.entries()) await plan.load(`w${i}`, sourceOf(contentsOf(spec, i).stored));
  const indices = Array.from({ length: rows }, (_, t) => t);
  const inputs = {
    x: uniform(rows, rows * depth),
    positions: Int32Array.from(indices, (t) => 900 + 5 * t),
    // The last of several tokens is not written.
    slots: Int32Array.from(indices, (t) => (t > 0 && t === rows - 1 ? slotCount : (3 * t + 2) % slotCount)),
    ...(hasNorm && { w: uniform(3, depth) }),
    ...(hasFactors && { factors: uniform(4, (rope?.dims ?? dK) / 2).map((factor) => 2 + factor) }),
  };
  const outputs = plan.run(inputs);
  const data = await Promise.all(["cache", "queries"].map((name) => outputs[name]!.data()));
  const { steps } = await plan.profile(inputs);
  await backend.dispose();
  return { launches: steps.reduce((sum, { launches = 0 }) => sum + launches, 0), data };
}

const llama: Form = { weights: ["q4_K", "q4_K", "q6_K"], cache: "f16", heads: [4, 2], widths: [16, 16], hasNorm: true };

const cases: readonly (readonly [string, Form, readonly number[], Capability?])[] = [
  ["of a norm, in two types", llama, [1, 3]],
  ["of a norm, in two types, without bulk copies", llama, [1, 3], [8, 0]],
  ["to an f32 cache, factors", { ...llama, cache: "f32", hasFactors: true }, [1]],
  [
    "part of each head, other values",
    { ...llama, weights: ["q8_0", "q8_0", "q8_0"], widths: [24, 8], rope: { dims: 16, base: 500 }, hasNorm: false },
    [1, 2],
  ],
  ["f16 weights", { ...llama, weights: ["f16", "f16", "f16"], hasNorm: false }, [1]],
];

test.each(cases.map(([name, form, counts, capability]) => ({ name, form, counts, capability })))(
  "products that rotate and write to a cache have the bits of launches apart: $name",
  async ({ form, counts, capability }) => {
    for (const rows of counts) {
      const [together, apart] = [await results(form, rows, false, capability), await results(form, rows, true, capability)];
      expect(together.data).toEqual(apart.data);
      expect(together.launches).toBe(apart.launches - 1);
    }
  },
);

test.each<readonly [string, Form, number]>([
  ["pairs in two tiles", { ...llama, rope: { ropeType: "neox" } }, 1],
  ["blocks of a cache", { ...llama, cache: "q8_0", widths: [32, 32] }, 1],
  ["more rows than a block norms", llama, 9],
  ["keys that are values, too", { ...llama, keysAreValues: true }, 1],
  ["heads of queries that are wider than those of keys", { ...llama, queryWidth: 24, rope: { dims: 16 } }, 1],
])("products and a write to a cache stay apart: %s", async (_name, form, rows) => {
  const [together, apart] = [await results(form, rows, false), await results(form, rows, true)];
  expect(together.launches).toBe(apart.launches);
  expect(together.data).toEqual(apart.data);
});
