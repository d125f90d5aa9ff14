import type { Value } from "@centella/core";
import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { NgramShape, StateShape } from "../../load/modelShape.ts";
import type { Layer } from "./layer.ts";
import { stateName } from "./recurrent/ssm.ts";
import { lastExtent, unitNorm } from "./section.ts";

/** Embeddings of n-grams of tokens, which one layer adds to the states that go from layer to layer (Qwen 4). */
export interface NgramEmbedding {
  /** How rows of the table are found. */
  readonly shape: NgramShape;
  /** The layer that adds the embeddings. */
  readonly layer: number;
  /** Elements of a row of the table. */
  readonly rowLength: number;
  /** Taps of the convolution, which are as many tokens apart as the longest n-gram has. */
  readonly kernelSize: number;
}

/** Reads the n-gram embeddings of a file; undefined if it has none. @throws {ModelError} */
export function readNgramEmbedding(file: MetadataReader): NgramEmbedding | undefined {
  const layers = file.metadata.optionalNumbers(file.key("ple.layers")) ?? [];
  const [layer] = layers;
  if (layer === undefined) return undefined;
  const size = file.requiredTokens("ple.ngram_size");
  const perSize = file.requiredSize("ple.heads_per_ngram");
  const kernelSize = file.requiredSize("ple.conv_kernel");
  const rowLength = file.requiredSize("embedding_length_per_layer_input");
  file.finish();
  const heads = (size - 1) * perSize;
  const integers = (name: string, count: number): readonly bigint[] => {
    const value = file.metadata.get(file.key(name));
    const values = typeof value === "object" && !Array.isArray(value) ? Array.from(value as Iterable<number | bigint>, BigInt) : [];
    if (values.length >= count && values.every((each) => each >= 0n)) return values.slice(0, count);
    throw new ModelError(`metadata: expected ${file.key(name)} to have ${count} whole numbers; convert the model again`);
  };
  const rows = (name: string): readonly number[] => integers(name, heads).map((value) => Number(value));
  const [offsets, counts] = [rows("ple.head_offsets"), rows("ple.head_vocab_sizes")];
  const isTable = offsets.every((offset, head) => offset + (counts[head] ?? 0) < 2 ** 31) && counts.every((count) => count > 0);
  if (layers.length !== 1 || size < 2 || !isTable)
    throw new ModelError(
      `metadata: expected one layer in ${file.key("ple.layers")}, n-grams of at least 2 tokens and rows below 2^31, got ${layers.length}, ${size} and others; convert the model again`,
    );
  const multipliers = integers("ple.layer_multipliers", size);
  const endId = file.metadata.optionalCount(file.key("ple.eos_token_id")) ?? 0;
  return { shape: { size, perSize, multipliers, offsets, counts, endId }, layer: Number(layer), rowLength, kernelSize };
}

/** The state of the convolution: the earlier tokens that it needs. */
export function ngramStates({ layer, shape, kernelSize }: NgramEmbedding, width: number): readonly StateShape[] {
  return [{ name: stateName(layer, "convolution.ngrams"), layer, shape: [(kernelSize - 1) * shape.size, width] }];
}

/** The states `[T, S, d]` with the embeddings of the n-grams that end with each token. */
export function addNgrams(layer: Layer, states: Value, { shape, rowLength, kernelSize }: NgramEmbedding): Value {
  const { model, weights } = layer;
  const { program, T, config } = model;
  const { embeddingLength: d } = config;
  const S = Number(states.spec.shape[1]);
  const heads = shape.offsets.length;
  const count = shape.offsets.reduce((most, offset, head) => Math.max(most, offset + (shape.counts[head] ?? 0)), 0);
  const rows = model.weights.shape("per_layer_token_embd.weight")?.[0] ?? count;
  const table = model.weights.of(layer.index).matrix("per_layer_token_embd.weight", [Math.max(rows, count), rowLength]);
  const ids = program.input("ngramRows", "i32", [T, heads]);
  const embedded = program.reshape(program.embedding(table, ids), { shape: [T, heads * rowLength] });
  const normed = (name: string, x: Value): Value =>
    program.mul(unitNorm(model, program.reshape(x, { shape: [T, S, d] })), weights.vector(`${name}.weight`, [S, d]));
  const key = normed("ple_norm_key", layer.linear("ple_key", embedded, { rows: S * d }));
  const value = program.reshape(layer.linear("ple_value", embedded, { rows: d }), { shape: [T, 1, d] });
  const product = program.sum(program.mul(key, normed("ple_norm_query", states)), { axis: 2, keepDims: true }); // [T, S, 1]
  const gated = program.mul(
    program.expand(value, { shape: [T, S, d] }),
    signedRootGate(layer, program.scale(product, { by: 1 / Math.sqrt(d) })),
  );
  const filtered = program.silu(spacedConvolution(layer, normed("ple_norm_conv", gated), kernelSize, shape.size));
  return program.add(states, program.add(gated, program.reshape(filtered, { shape: [T, S, d] })));
}

/** The least square of a gate's argument. */
const leastSquare = 1e-6;

/** `sigmoid(sign(x) · √|x|)` */
function signedRootGate({ model: { program } }: Layer, x: Value): Value {
  const root = program.sqrt(program.maximum(program.abs(x), program.constant(Float32Array.of(leastSquare), "f32", [1])));
  return program.sigmoid(program.mul(program.sign(x), root));
}

/** The causal convolution of `x [T, S, d]` with taps that are `distance` tokens apart: `[T, S · d]`. */
function spacedConvolution({ model, weights, index }: Layer, x: Value, kernelSize: number, distance: number): Value {
  const { program, T, positions } = model;
  const channels = Number(x.spec.shape[1]) * lastExtent(x);
  const flat = program.reshape(x, { shape: [T, channels] });
  const taps = program.reshape(weights.vector("ple_conv1d.weight", [channels, kernelSize]), { shape: [channels, kernelSize, 1] });
  const zeros = program.constant(new Float32Array(distance - 1), "f32", [1, 1, distance - 1]);
  const spaced = program.concat([taps, program.expand(zeros, { shape: [channels, kernelSize, distance - 1] })], { axis: 2 });
  const all = program.reshape(spaced, { shape: [channels, kernelSize * distance] });
  const filter = program.slice(all, { axis: 1, start: 0, end: (kernelSize - 1) * distance + 1 });
  const { tensor, rows } = model.state(stateName(index, "convolution.ngrams"));
  const y = program.ssmConv(flat, filter, tensor, positions, rows);
  program.ssmConvWrite(tensor, flat, positions, rows);
  return y;
}
