import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { HeadSizes, StateShape } from "../../../load/modelShape.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import { type ModelConfig, readEpsilon, readVocabSize } from "../../config.ts";
import type { Layer } from "../layer.ts";
import { ones } from "../section.ts";

/** Sizes of layers with a selective state space or a short convolution. */
export interface SsmConfig {
  /** Channels. */
  readonly innerLength: number;
  /** Elements of the convolution's filters. */
  readonly kernelSize: number;
  /** Channels that the convolution filters. */
  readonly filteredLength: number;
  /** Elements of the state of each channel; 0: the layer is a convolution alone. */
  readonly stateLength: number;
  /** Heads that the channels are divided among. */
  readonly heads: number;
  /** Groups of heads that share B and C. */
  readonly groups: number;
  /** Width of the vector that time steps come from. */
  readonly dtRank: number;
  /** Whether dt, B and C are normalised, also if there are no weights for that. */
  readonly isNormed: boolean;
}

/** Mamba's sizes: each channel is a head of its own. */
export function readMamba(file: MetadataReader): SsmConfig {
  const innerLength = file.requiredSize("ssm.inner_size");
  return { ...readScan(file), innerLength, filteredLength: innerLength, heads: innerLength, groups: 1 };
}

/** @throws {ModelError} if the channels cannot be divided among heads, or the heads among groups */
export function readMamba2(file: MetadataReader): SsmConfig {
  const scan = readScan(file);
  const innerLength = file.requiredSize("ssm.inner_size");
  const heads = scan.dtRank;
  const groups = file.requiredSize("ssm.group_count");
  file.finish();
  if (innerLength % heads !== 0 || heads % groups !== 0)
    throw new ModelError(
      `metadata: expected ssm.inner_size to be a multiple of ssm.time_step_rank, and that of ssm.group_count, got ${innerLength}, ${heads} and ${groups}; convert the model again`,
    );
  return { ...scan, innerLength, filteredLength: innerLength + 2 * groups * scan.stateLength, heads, groups };
}

function readScan(file: MetadataReader): Pick<SsmConfig, "stateLength" | "dtRank" | "kernelSize" | "isNormed"> {
  return {
    stateLength: file.requiredSize("ssm.state_size"),
    dtRank: file.requiredSize("ssm.time_step_rank"),
    kernelSize: file.requiredSize("ssm.conv_kernel"),
    isNormed: file.bool("ssm.dt_b_c_rms") === true,
  };
}

/** The sizes of gated short convolutions. */
export function readShortConvolution(file: MetadataReader): SsmConfig {
  const innerLength = file.requiredSize("embedding_length");
  const kernelSize = file.requiredSize("shortconv.l_cache");
  return { innerLength, filteredLength: innerLength, kernelSize, stateLength: 0, heads: 0, groups: 0, dtRank: 0, isNormed: false };
}

const noHeads: HeadSizes = { heads: 1, kvHeads: 1, keyLength: 1, valueLength: 1 };

/** The config of a model of selective state spaces alone. @throws {ModelError} naming every missing key at once */
export function readAttentionFree(file: MetadataReader, ssm: SsmConfig): ModelConfig {
  return withStates(readAttentionFreeConfig(file), ssm);
}

/** The config of a model without attention, and without its states. @throws {ModelError} naming every missing key at once */
export function readAttentionFreeConfig(file: MetadataReader, norm: ModelConfig["norm"] = "rms"): ModelConfig {
  const contextLength = file.requiredTokens("context_length");
  const embeddingLength = file.requiredSize("embedding_length");
  const layers = file.requiredBlocks();
  const epsilon = readEpsilon(file, norm);
  file.finish();
  return {
    architecture: file.architecture,
    vocabSize: readVocabSize(file),
    contextLength,
    embeddingLength,
    layers,
    feedForwardLength: 0,
    ...noHeads,
    headsOf: () => noHeads,
    norm,
    epsilon,
    nextnBlocks: 0,
    isEncoder: false,
    hasCache: () => false,
    states: [],
  };
}

/** The config with a state for each layer that has no cache, or for the layers that `has` names. */
export function withStates(
  config: ModelConfig,
  { innerLength, filteredLength, kernelSize, stateLength, heads }: SsmConfig,
  has: (layer: number) => boolean = (layer) => !config.hasCache(layer),
): ModelConfig {
  const layers = Array.from({ length: config.layers }, (_, layer) => layer).filter(has);
  const states = layers.flatMap((layer): StateShape[] => {
    const convolution = { name: stateName(layer, "convolution"), layer, shape: [kernelSize - 1, filteredLength] };
    if (stateLength === 0) return [convolution];
    return [convolution, { name: stateName(layer, "scan"), layer, shape: [heads, innerLength / heads, stateLength] }];
  });
  return { ...config, states };
}

/** Gated short convolution (Liquid AI, 2025, "LFM2"): `out(c · conv(b · x))` with b, c and x from one projection. `x [T, d] -> [n, d]` */
export function shortConvolution(layer: Layer, x: Value, { innerLength: d, kernelSize }: SsmConfig): Value {
  const { program, config } = layer.model;
  const part = (index: number): Value => layer.linear("shortconv.in_proj", x, { rows: d, from: index * d, of: 3 * d });
  const [b, c, y] = [part(0), part(1), part(2)];
  const convolved = convolve(layer, "shortconv.conv.weight", kernelSize, program.mul(b, y));
  return layer.linear("shortconv.out_proj", layer.pick(program.mul(c, convolved)), { rows: config.embeddingLength });
}

/** Mamba's block (Gu & Dao, 2023, section 3.4); Jamba's also normalises dt, B and C. `x [T, d] -> [n, d]` */
export function mambaBlock(layer: Layer, x: Value, sizes: SsmConfig): Value {
  const { model, weights } = layer;
  const { program, T, config } = model;
  const { innerLength: inner, kernelSize, stateLength: N, dtRank } = sizes;
  const input = layer.linear("ssm_in", x, { rows: inner, of: 2 * inner });
  const gate = layer.linear("ssm_in", x, { rows: inner, from: inner, of: 2 * inner });
  const filtered = convolve(layer, "ssm_conv1d.weight", kernelSize, input);
  const u = program.silu(program.add(filtered, weights.vector("ssm_conv1d.bias", inner))); // [T, inner]
  const parameter = (norm: string, from: number, rows: number): Value => {
    const y = layer.linear("ssm_x", u, { rows, from, of: dtRank + 2 * N });
    if (weights.has(`${norm}.weight`)) return layer.norm(norm, y);
    return sizes.isNormed ? program.rmsNorm(y, ones(program, rows), { eps: config.epsilon }) : y;
  };
  const steps = parameter("ssm_dt_norm", 0, dtRank);
  const [b, c] = [parameter("ssm_b_norm", dtRank, N), parameter("ssm_c_norm", dtRank + N, N)];
  const dt = program.softplus(layer.linear("ssm_dt", steps, { rows: inner })); // [T, inner]
  const oneGroup = (y: Value): Value => program.reshape(y, { shape: [T, 1, N] });
  const a = weights.vector("ssm_a", [inner, N]);
  const y = scan(layer, { x: program.reshape(u, { shape: [T, inner, 1] }), dt, a, b: oneGroup(b), c: oneGroup(c) });
  const skipped = program.add(program.reshape(y, { shape: [T, inner] }), program.mul(u, weights.vector("ssm_d", inner)));
  return layer.linear("ssm_out", layer.pick(program.mul(skipped, program.silu(gate))), { rows: config.embeddingLength });
}

/** Mamba-2's block (Dao & Gu, 2024, section 7): dt, B and C come from the input projection, and the output is normalised in groups. `x [T, d] -> [n, d]` */
export function mamba2Block(layer: Layer, x: Value, sizes: SsmConfig): Value {
  const { model, weights } = layer;
  const { program, T, config } = model;
  const { innerLength: inner, filteredLength: filtered, kernelSize, stateLength: N, heads: H, groups: G } = sizes;
  const of = inner + filtered + H;
  const part = (from: number, rows: number): Value => layer.linear("ssm_in", x, { rows, from, of });
  const convolved = convolve(layer, "ssm_conv1d.weight", kernelSize, part(inner, filtered));
  const u = program.silu(program.add(convolved, weights.vector("ssm_conv1d.bias", filtered))); // [T, inner + 2 · G · N]
  const piece = (start: number, shape: readonly [number, number]): Value =>
    program.reshape(program.slice(u, { axis: -1, start, end: start + shape[0] * shape[1] }), { shape: [T, ...shape] });
  const channels = piece(0, [H, inner / H]); // [T, H, P]
  const dt = program.softplus(program.add(part(inner + filtered, H), weights.vector("ssm_dt.bias", H))); // [T, H]
  const a = weights.vector("ssm_a", [H, 1]);
  const y = scan(layer, { x: channels, dt, a, b: piece(inner, [G, N]), c: piece(inner + G * N, [G, N]) });
  const skipped = program.add(y, program.mul(channels, weights.vector("ssm_d", [H, 1])));
  const gated = program.mul(program.reshape(skipped, { shape: [T, inner] }), program.silu(part(0, inner)));
  return layer.linear("ssm_out", layer.pick(groupNorm(layer, gated, sizes)), { rows: config.embeddingLength });
}

/** `x [T, inner] -> [T, inner]`, each group normalised by itself, if the file has weights for that. */
function groupNorm({ model, weights }: Layer, x: Value, { innerLength: inner, groups: G }: SsmConfig): Value {
  const { program, T, config } = model;
  if (!weights.has("ssm_norm.weight")) return x;
  const grouped = program.reshape(x, { shape: [T, G, inner / G] });
  const normed = program.rmsNorm(grouped, ones(program, inner / G), { eps: config.epsilon });
  const weighted = program.mul(normed, weights.vector("ssm_norm.weight", [G, inner / G]));
  return program.reshape(weighted, { shape: [T, inner] });
}

/** Inputs of a layer's scan; see the op `ssmScan`. */
export type Scan = Readonly<Record<"x" | "dt" | "a" | "b" | "c", Value>>;

/** The op `ssmScan`, `[T, H, P]`; the layer's state goes on. */
export function scan({ model, index }: Layer, { x, dt, a, b, c }: Scan): Value {
  const { program, positions } = model;
  const { tensor, rows } = model.state(stateName(index, "scan"));
  const y = program.ssmScan(x, dt, a, b, c, tensor, positions, rows);
  program.ssmScanWrite(tensor, x, dt, a, b, positions, rows);
  return y;
}

/** The causal convolution of `x [T, C]` with a filter for each channel; the layer's state holds the earlier tokens that it needs. */
export function convolve(
  { model, weights, index }: Layer,
  name: string,
  kernelSize: number,
  x: Value,
  state: `convolution${string}` = "convolution",
): Value {
  const { program, positions }: ModelBuilder = model;
  const { tensor, rows } = model.state(stateName(index, state));
  const y = program.ssmConv(x, weights.vector(name, [Number(x.spec.shape[1]), kernelSize]), tensor, positions, rows);
  program.ssmConvWrite(tensor, x, positions, rows);
  return y;
}

export function stateName(layer: number, kind: `convolution${string}` | "scan"): string {
  return `state.${layer}.${kind}`;
}
