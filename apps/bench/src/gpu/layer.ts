import { type Activations, type Backend, reference, UnsupportedError } from "@centella/core";
import { named } from "@centella/quant/checks";
import { type ModelShape, shapes } from "../model/shapes.ts";
import { uniform } from "../stats/random.ts";
import { sourceOf } from "../tasks/ours.ts";
import { bytesOf, type ModeOf, type Scale } from "./kernel.ts";
import { type LayerCase, recordLayer } from "./recordLayer.ts";
import { relativeError } from "./relativeError.ts";

/** A small layer whose matrices have the types of a large one's. */
const tinyShape: ModelShape = {
  ...named(shapes, "llama-3.1-8b"),
  embedding: 256,
  feedForward: 512,
  heads: 4,
  kvHeads: 2,
  headSize: 64,
  vocabulary: 256,
};

const cases: Readonly<Record<Scale, readonly LayerCase[]>> = {
  full: [1, 17].map((tokens) => ({ name: "llama-3.1-8b", shape: named(shapes, "llama-3.1-8b"), tokens, past: 100 })),
  tiny: [1, 17].map((tokens) => ({ name: "tiny", shape: tinyShape, tokens, past: 40 })),
};

/**
 * Relative size of the noise that is like a mode's rounding: of sums of thousands of f32 terms, of operands that become halves, of
 * activations that become blocks of 8 bits.
 */
const noise: Readonly<Record<Activations, number>> = { f32: 2 ** -20, half: 2 ** -11, ggml: 2 ** -7 };

/** Largest error of a layer, as a multiple of its sensitivity: each of its products and its attention rounds once. */
const maxRatio = 4;

/** How far a layer is from the reference, or why it is not known. */
export interface LayerResult {
  readonly name: string;
  readonly activations: Activations;
  /** Relative error of what the layer adds to its input. */
  readonly error?: number;
  /** Relative change of the same if the input has noise of the size of the mode's rounding. */
  readonly sensitivity?: number;
  /** The error by the sensitivity. */
  readonly ratio?: number;
  readonly failed?: string;
  readonly skipped?: string;
}

/** Compares a layer of a model in the backend's mode with the exact result of the scalar reference, which adds in f64. */
export async function measureLayers(
  backend: Backend,
  scale: Scale,
  modeOf: ModeOf,
  isOver: () => boolean,
): Promise<readonly LayerResult[]> {
  const activations = modeOf("q4_K");
  const results: LayerResult[] = [];
  for (const layer of cases[scale]) {
    const about = { name: `${layer.name} Q4_K_M, ${layer.tokens} at ${layer.past + layer.tokens}`, activations };
    results.push(
      isOver() ? { ...about, skipped: "the time was over" } : { ...about, ...(await measureLayer(backend, layer, activations)) },
    );
  }
  return results;
}

async function measureLayer(
  backend: Backend,
  layer: LayerCase,
  activations: Activations,
): Promise<Omit<LayerResult, "name" | "activations">> {
  try {
    const x = uniform(7, layer.tokens * layer.shape.embedding);
    const wobble = uniform(9, x.length);
    const noisy = x.map((value, i) => value * (1 + noise[activations] * wobble[i]!));
    const [got] = await addedBy(backend, layer, activations, [x]);
    const exact = await reference().open();
    const [want, changed] = await addedBy(exact, layer, "f32", [x, noisy]);
    await exact.dispose();
    return judge(relativeError(got!, want!), relativeError(changed!, want!));
  } catch (error) {
    if (error instanceof UnsupportedError) return { skipped: error.reason };
    return { failed: String(error) };
  }
}

/** Whether an error is one of rounding. */
export function judge(error: number, sensitivity: number): Pick<LayerResult, "error" | "sensitivity" | "ratio" | "failed"> {
  const ratio = error / sensitivity;
  // NaN is wrong too.
  const isRight = ratio <= maxRatio;
  const failed = `wrong result: relative error ${error.toExponential(1)}, at most ${maxRatio} times the sensitivity of ${sensitivity.toExponential(1)} is right`;
  return { error, sensitivity, ratio, ...(!isRight && { failed }) };
}

/** What a layer adds to each of its inputs `[tokens, embedding]`. The rest of its output is the input, which has no error. */
async function addedBy(
  backend: Backend,
  layer: LayerCase,
  activations: Activations,
  inputs: readonly Float32Array[],
): Promise<readonly Float64Array[]> {
  const { program, persistents, inputs: tables } = recordLayer(layer, activations);
  const plan = await backend.compile(program);
  try {
    for (const [name, data] of persistents) await plan.load(name, sourceOf(bytesOf(data)));
    const added: Float64Array[] = [];
    for (const x of inputs) {
      using y = named(plan.run({ ...tables, x }), "y");
      const values = (await y.data()) as Float32Array;
      added.push(Float64Array.from(values, (value, i) => value - x[i]!));
    }
    return added;
  } finally {
    plan.dispose();
  }
}
