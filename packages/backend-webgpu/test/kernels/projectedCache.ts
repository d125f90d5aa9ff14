import { contentsOf, sourceOf, uniform } from "@centella/conformance";
import { type Activations, type Backend, createProgram, type DType, type ParamsOf, type Program, type TypedArray } from "@centella/core";

/** Queries, keys and values of a layer, whose keys and values go to a cache. */
export interface ProjectionForm {
  readonly weights: readonly [queries: DType, keys: DType, values: DType];
  readonly activations: Activations;
  readonly cache: "f32" | "f16" | "q8_0";
  readonly heads: readonly [queries: number, keys: number];
  readonly widths: readonly [keys: number, values: number];
  readonly rope?: Partial<ParamsOf<"rope">>;
  readonly hasNorm?: boolean;
  readonly hasFactors?: boolean;
  /** Tokens of a run, at most. */
  readonly most?: number;
}

const projectedDepth = 256;
const projectedSlots = 17;

/** Queries, keys and values of tokens. If the products are results of the program, they are dispatches of their own. */
export function projections(form: ProjectionForm, isApart: boolean): Program {
  const [queryHeads, keyHeads] = form.heads;
  const [dK, dV] = form.widths;
  const program = createProgram();
  const { most = 4 } = form;
  const T = most === 1 ? 1 : program.dim("T", most);
  const x = program.input("x", "f32", [T, projectedDepth]);
  const [positions, slots] = [program.input("positions", "i32", [T]), program.input("slots", "i32", [T])];
  const freqFactors = form.hasFactors === true ? program.input("factors", "f32", [(form.rope?.dims ?? dK) / 2]) : undefined;
  const a = form.hasNorm === true ? program.rmsNorm(x, program.input("w", "f32", [projectedDepth]), { eps: 1e-5 }) : x;
  const [q, k, v] = [queryHeads * dK, keyHeads * dK, keyHeads * dV].map((n, i) => {
    const weight = program.persistent(`w${i}`, { dtype: form.weights[i]!, shape: [n, projectedDepth] });
    const product = program.matmul(a, weight, { transposeB: true, activations: form.activations });
    if (isApart) program.output(`product${i}`, product);
    return product;
  });
  const turn = { ropeType: "norm", ...form.rope, ...(freqFactors && { freqFactors }) } as const;
  const rotated = program.rope(program.reshape(q!, { shape: [T, queryHeads, dK] }), positions, turn);
  const keys = program.rope(program.reshape(k!, { shape: [T, keyHeads, dK] }), positions, turn);
  const cache = program.persistent("cache", { dtype: form.cache, shape: [projectedSlots, keyHeads, dK + dV] }, { init: "zeros" });
  program.output("cache", program.kvWrite(cache, keys, program.reshape(v!, { shape: [T, keyHeads, dV] }), slots));
  program.output("queries", program.scale(rotated, { by: 2 }));
  return program;
}

/** The cache and the queries of a run of {@link projections}. */
export async function projectedResults(backend: Backend, program: Program, rows: number): Promise<readonly Float32Array[]> {
  const plan = await backend.compile(program);
  for (const [i, name] of ["w0", "w1", "w2"].entries())
    await plan.load(name, sourceOf(contentsOf(program.persistents.get(name)!.spec, i).stored));
  const indices = Array.from({ length: rows }, (_, t) => t);
  const given: Record<string, TypedArray> = {
    x: uniform(rows, rows * projectedDepth),
    positions: Int32Array.from(indices, (t) => 900 + 5 * t),
    // The last of several tokens is not written.
    slots: Int32Array.from(indices, (t) => (t > 0 && t === rows - 1 ? projectedSlots : (3 * t + 2) % projectedSlots)),
    w: uniform(3, projectedDepth),
    factors: uniform(4, 64).map((factor) => 2 + factor),
  };
  const outputs = plan.run(
    Object.fromEntries(
      [...program.inputs].map(([name, id]) => {
        const [length] = name === "factors" ? (program.values[id]!.spec.shape as readonly number[]) : [undefined];
        return [name, given[name]!.subarray(0, length)];
      }),
    ),
  );
  const data = await Promise.all(["cache", "queries"].map((name) => outputs[name]!.data()));
  plan.dispose();
  return data.map((array) => (array instanceof Float32Array ? array : Float32Array.from(array as Uint16Array, halfValue)));
}

function halfValue(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/** A layer as Llama has it. */
export const llamaProjections: ProjectionForm = {
  weights: ["q4_K", "q4_K", "q6_K"],
  activations: "ggml",
  cache: "f16",
  heads: [4, 2],
  widths: [16, 16],
  hasNorm: true,
};
