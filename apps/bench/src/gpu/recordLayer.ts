import {
  type Activations,
  type Backend,
  type ConcreteSpec,
  createProgram,
  type Program,
  type TypedArray,
  type Value,
} from "@centella/core";
import { typedArrayOf } from "@centella/core/backend";
import { elementAt, named } from "@centella/quant/checks";
import { randomBlocks } from "../model/blocks.ts";
import { vectorOf } from "../model/generate.ts";
import type { ModelShape } from "../model/shapes.ts";
import { type TensorPlan, tensorPlans } from "../model/tensors.ts";
import { seedOf } from "../stats/random.ts";
import { sourceOf } from "../tasks/ours.ts";
import { bytesOf } from "./kernel.ts";

/** Positions per block of the cache. */
const blockSize = 32;

/** The first layer of a model in Q4_K_M, and the tokens that it computes. */
export interface LayerCase {
  readonly name: string;
  readonly shape: ModelShape;
  readonly tokens: number;
  /** Tokens before them, whose keys and values are in the cache. */
  readonly past: number;
}

/** A program of a layer with everything that it reads but its input `x [tokens, embedding]`. Its output is `y`, of the same shape. */
export interface RecordedLayer {
  readonly program: Program;
  /** Weights, norms and the cache, by name. */
  readonly persistents: ReadonlyMap<string, TypedArray>;
  readonly inputs: Readonly<Record<string, Int32Array>>;
}

/** Records a layer of Llama as models do, with random weights. */
export function recordLayer({ shape, tokens, past }: LayerCase, activations: Activations): RecordedLayer {
  const { embedding, heads, kvHeads, headSize, ropeBase, epsilon } = shape;
  const program = createProgram();
  const persistents = new Map<string, TypedArray>();
  const persistent = (name: string, spec: ConcreteSpec, data: TypedArray): Value => {
    persistents.set(name, data);
    return program.persistent(name, spec);
  };
  const plans = new Map(tensorPlans(shape, "Q4_K_M").map((plan) => [plan.name, plan]));
  const tensor = (name: string): Value => {
    const plan = plans.get(name)!;
    return persistent(name, { dtype: plan.type, shape: plan.shape }, dataOf(plan, shape));
  };
  const norm = (x: Value, name: string): Value => program.rmsNorm(x, tensor(`blk.0.${name}.weight`), { eps: epsilon });
  const product = (x: Value, name: string): Value => program.matmul(x, tensor(`blk.0.${name}.weight`), { transposeB: true, activations });
  const headsOf = (x: Value, name: string, count: number): Value => program.reshape(product(x, name), { shape: [tokens, count, headSize] });

  const { values, ...inputs } = tablesOf(program, tokens, past);
  const freqFactors = shape.ropeScaling && tensor("rope_freqs.weight");
  const rotated = (x: Value): Value =>
    program.rope(x, values.positions, { ropeType: "norm", base: ropeBase, ...(freqFactors && { freqFactors }) });

  const x = program.input("x", "f32", [tokens, embedding]);
  const input = norm(x, "attn_norm");
  const [q, k, v] = [headsOf(input, "attn_q", heads), headsOf(input, "attn_k", kvHeads), headsOf(input, "attn_v", kvHeads)];
  const cacheShape = [inputs.slotCount, kvHeads, 2 * headSize];
  const halves = randomBlocks("f16", inputs.slotCount * kvHeads * 2 * headSize, 17, 1);
  const cache = persistent("cache", { dtype: "f16", shape: cacheShape }, new Uint16Array(halves.buffer));
  const written = program.kvWrite(cache, rotated(k), v, values.positions);
  const attended = program.attention(rotated(q), written, values.positions, values.seqOf, values.blockTable, values.seqLens, {
    scale: 1 / Math.sqrt(headSize),
    blockSize,
    activations: activations === "half" ? "half" : "f32",
  });
  const middle = program.add(x, product(program.reshape(attended, { shape: [tokens, heads * headSize] }), "attn_output"));
  const between = norm(middle, "ffn_norm");
  const inner = program.mul(program.silu(product(between, "ffn_gate")), product(between, "ffn_up"));
  program.output("y", program.add(middle, product(inner, "ffn_down")));
  return { program, persistents, inputs: inputs.data };
}

/** Positions and the cache's tables of one text, whose blocks are in order: the slot of a token is its position. */
function tablesOf(program: Program, tokens: number, past: number) {
  const blocks = Math.ceil((past + tokens) / blockSize);
  const data = {
    positions: Int32Array.from({ length: tokens }, (_, t) => past + t),
    seqOf: new Int32Array(tokens),
    blockTable: Int32Array.from({ length: blocks }, (_, block) => block),
    seqLens: Int32Array.of(past + tokens),
  };
  const input = (name: keyof typeof data, shape: readonly number[]): Value => program.input(name, "i32", shape);
  const values = {
    positions: input("positions", [tokens]),
    seqOf: input("seqOf", [tokens]),
    blockTable: input("blockTable", [1, blocks]),
    seqLens: input("seqLens", [1]),
  };
  return { data, values, slotCount: blocks * blockSize };
}

function dataOf({ name, type, shape, scale }: TensorPlan, model: ModelShape): TypedArray {
  const seed = seedOf(name);
  if (type === "f32") return vectorOf(name, shape[0]!, model, seed);
  const elements = shape.reduce((a, b) => a * b, 1);
  return new (typedArrayOf(type))(randomBlocks(type, elements, seed, scale).buffer);
}

/** What a layer adds to its input `x [tokens, embedding]` on a backend. The rest of its output is the input, which has no error. */
export async function addedBy(backend: Backend, layer: LayerCase, activations: Activations, x: Float32Array): Promise<Float64Array> {
  const { program, persistents, inputs } = recordLayer(layer, activations);
  const plan = await backend.compile(program);
  try {
    for (const [name, data] of persistents) await plan.load(name, sourceOf(bytesOf(data)));
    using y = named(plan.run({ ...inputs, x }), "y");
    const values = (await y.data()) as Float32Array;
    return Float64Array.from(values, (value, i) => value - elementAt(x, i));
  } finally {
    plan.dispose();
  }
}
