import { type Activations, type Backend, UnsupportedError } from "@centella/core";
import { elementAt, named } from "@centella/quant/checks";
import { type ModelShape, shapes } from "../model/shapes.ts";
import { uniform } from "../stats/random.ts";
import { exactlyAdded } from "./exactLayer.ts";
import type { ModeOf, Scale } from "./kernel.ts";
import { addedBy, type LayerCase } from "./recordLayer.ts";
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

/** How layers are compared. */
interface LayerSettings {
  readonly scale: Scale;
  readonly modeOf: ModeOf;
  readonly isOver: () => boolean;
  readonly log: (line: string) => void;
}

/**
 * Compares layers of a model in the backend's mode with the exact results of the scalar reference, which adds in f64. These are computed by
 * threads, all at the same time: a layer of 17 tokens takes one of them 5 to 10 seconds.
 */
export async function measureLayers(backend: Backend, { scale, modeOf, isOver, log }: LayerSettings): Promise<readonly LayerResult[]> {
  const activations = modeOf("q4_K");
  const layers = cases[scale].map((layer) => ({ layer, name: `${layer.name} Q4_K_M, ${layer.tokens} at ${layer.past + layer.tokens}` }));
  if (isOver()) return layers.map(({ name }) => ({ name, activations, skipped: "the time was over" }));
  const start = performance.now();
  const exact = layers.map(({ layer }) => exactResults(layer, activations));
  log(`layers: exact results on ${2 * layers.length} threads, which take some 10 s`);
  const results: LayerResult[] = [];
  for (const [i, { layer, name }] of layers.entries()) {
    const result = await measureLayer(backend, layer, activations, elementAt(exact, i));
    log(`${name}: ${result.failed ?? result.skipped ?? "right"} after ${((performance.now() - start) / 1e3).toFixed(1)} s`);
    results.push({ name, activations, ...result });
  }
  // Nothing else is measured beside threads.
  await Promise.allSettled(exact.map(({ added }) => added));
  return results;
}

/** What a layer adds to its input, exactly, and what it adds if the input has the noise of a mode's rounding. */
interface ExactResults {
  readonly x: Float32Array;
  readonly added: Promise<readonly [want: Float64Array, changed: Float64Array]>;
}

function exactResults(layer: LayerCase, activations: Activations): ExactResults {
  const x = uniform(7, layer.tokens * layer.shape.embedding);
  const wobble = uniform(9, x.length);
  const noisy = x.map((value, i) => value * (1 + noise[activations] * elementAt(wobble, i)));
  const added = Promise.all([exactlyAdded(layer, x), exactlyAdded(layer, noisy)]);
  // An error is handled where the results are awaited, which may be later.
  added.catch(() => undefined);
  return { x, added };
}

async function measureLayer(
  backend: Backend,
  layer: LayerCase,
  activations: Activations,
  { x, added }: ExactResults,
): Promise<Omit<LayerResult, "name" | "activations">> {
  try {
    const got = await addedBy(backend, layer, activations, x);
    const [want, changed] = await added;
    return judge(relativeError(got, want), relativeError(changed, want));
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
