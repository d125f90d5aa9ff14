import type { Dim, Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelConfig } from "../../config.ts";
import type { Layer } from "../layer.ts";
import { readRecurrentLayers } from "../layerSizes.ts";
import { ones } from "../section.ts";
import { convolve, readMamba2, type SsmConfig, stateName, withStates } from "./ssm.ts";

/** How heads of values share heads of keys: neighbours have one key, or every n-th has. */
export type KeySharing = "neighbours" | "strided";

/** Sizes of gated delta nets, under Mamba-2's keys: groups are heads of keys, heads those of values. @throws {ModelError} */
export function readDeltaNet(file: MetadataReader): SsmConfig {
  const sizes = readMamba2(file);
  if (sizes.innerLength !== sizes.heads * sizes.stateLength)
    throw new ModelError(
      `metadata: expected ssm.inner_size to be ssm.time_step_rank times ssm.state_size, got ${sizes.innerLength}, ${sizes.heads} and ${sizes.stateLength}; convert the model again`,
    );
  return sizes;
}

/** The config of a model whose layers are gated delta nets but for some: those that the file lists, or every n-th, by default the fourth. */
export function withDeltaNets(file: MetadataReader, config: ModelConfig, sizes: SsmConfig): ModelConfig {
  const isRecurrent = readRecurrentLayers(file, 4);
  return withStates({ ...config, hasCache: (layer) => !isRecurrent(layer) }, sizes);
}

/** Gated delta net (Yang, Kautz & Hatamizadeh, 2024, section 3.4): see the op `deltaScan`. `x [T, d] -> [n, d]` */
export function deltaNetBlock(layer: Layer, x: Value, sizes: SsmConfig, sharing: KeySharing, gating: "silu" | "sigmoid" = "silu"): Value {
  const { model, weights } = layer;
  const { program, T, config } = model;
  const { innerLength: inner, kernelSize, stateLength: K, heads: H, groups: G } = sizes;
  const { mixed, gate } = projections(layer, x, sizes);
  const u = program.silu(convolve(layer, "ssm_conv1d.weight", kernelSize, mixed)); // [T, 2 · G · K + inner]
  const piece = (start: number, heads: number): Value =>
    program.reshape(program.slice(u, { axis: -1, start, end: start + heads * K }), { shape: [T, heads, K] });
  const keys = (start: number, length: number): Value => shared(layer, unit(layer, piece(start, G), length), sizes, sharing);
  const [q, k, v] = [keys(0, 1 / Math.sqrt(K)), keys(G * K, 1), piece(2 * G * K, H)];
  const { alpha, beta } = gates(layer, x, sizes);
  const steps = program.softplus(program.add(alpha, weights.vector("ssm_dt.bias", H)));
  const perHead = (y: Value): Value => program.reshape(y, { shape: [T, H, 1] });
  const decay = perHead(program.exp(program.mul(steps, weights.vector("ssm_a", H))));
  const learned = perHead(program.sigmoid(beta));
  const b = program.mul(k, program.neg(program.mul(decay, learned)));
  const y = deltaScan(layer, { q, k, v: program.mul(v, learned), decay, a: k, b }); // [T, H, K]
  const gated = program.mul(layer.norm("ssm_norm", y), program[gating](gate));
  const flat = program.reshape(gated, { shape: [T, inner] });
  return layer.linear("ssm_out", layer.pick(flat), { rows: config.embeddingLength });
}

/** Inputs of a layer's scan; see the op `deltaScan`. */
export type DeltaScan = Readonly<Record<"q" | "k" | "v" | "decay" | "a" | "b", Value>>;

/** `[T, H, V]`; the layer's state goes on. */
export function deltaScan({ model, index }: Layer, { q, k, v, decay, a, b }: DeltaScan): Value {
  const { program, positions } = model;
  const { tensor, rows } = model.state(stateName(index, "scan"));
  const y = program.deltaScan(q, k, v, decay, a, b, tensor, positions, rows);
  program.deltaScanWrite(tensor, k, v, decay, a, b, positions, rows);
  return y;
}

/** What the convolution filters, `[T, 2 · G · K + inner]`: queries, keys and values; and the gate of the outputs, `[T, H, K]`. */
function projections(
  layer: Layer,
  x: Value,
  { innerLength: inner, filteredLength, stateLength: K, heads: H, groups: G }: SsmConfig,
): { readonly mixed: Value; readonly gate: Value } {
  const { program, T } = layer.model;
  const toHeads = (y: Value): Value => program.reshape(y, { shape: [T, H, K] });
  if (layer.weights.has("attn_qkv.weight")) {
    layer.weights.ignore("ssm_in.weight", "ssm_in.input_scale");
    return { mixed: layer.linear("attn_qkv", x, { rows: filteredLength }), gate: toHeads(layer.linear("attn_gate", x, { rows: inner })) };
  }
  // Old files have one matrix, by heads of keys: a query, a key, values and gates.
  const of = filteredLength + inner;
  const byKeys = program.reshape(layer.linear("ssm_in", x, { rows: of }), { shape: [T, G, of / G] });
  const part = (start: number, size: number): Value =>
    program.reshape(program.slice(byKeys, { axis: -1, start, end: start + size }), { shape: [T, G * size] });
  const mixed = program.concat([part(0, K), part(K, K), part(2 * K, inner / G)], { axis: -1 });
  return { mixed, gate: toHeads(part(2 * K + inner / G, inner / G)) };
}

/** What decays and learning rates depend on, each `[T, H]`: from two matrices, or from one by heads of keys. */
function gates(layer: Layer, x: Value, { heads: H, groups: G }: SsmConfig): { readonly alpha: Value; readonly beta: Value } {
  const { program, T } = layer.model;
  if (!layer.weights.has("ssm_ba.weight"))
    return { alpha: layer.linear("ssm_alpha", x, { rows: H }), beta: layer.linear("ssm_beta", x, { rows: H }) };
  const both = program.reshape(layer.linear("ssm_ba", x, { rows: 2 * H }), { shape: [T, G, 2, H / G] });
  const part = (index: number): Value => program.reshape(program.slice(both, { axis: 2, start: index, end: index + 1 }), { shape: [T, H] });
  return { alpha: part(1), beta: part(0) };
}

/** Each vector of `x [T, G, K]` scaled to a length. */
export function unit({ model: { program, config } }: Layer, x: Value, length: number): Value {
  const K = Number(x.spec.shape.at(-1));
  const weight = program.mul(ones(program, K), program.constant(Float32Array.of(length / Math.sqrt(K)), "f32", [1]));
  return program.rmsNorm(x, weight, { eps: config.epsilon / K });
}

/** `x [T, G, K] -> [T, H, K]`: the key of each head of values. */
function shared(
  { model: { program, T } }: Layer,
  x: Value,
  { heads: H, groups: G, stateLength: K }: SsmConfig,
  sharing: KeySharing,
): Value {
  if (H === G) return x;
  const copies = H / G;
  const repeated = (from: readonly Dim[], to: readonly Dim[]): Value => program.expand(program.reshape(x, { shape: from }), { shape: to });
  const wide = sharing === "neighbours" ? repeated([T, G, 1, K], [T, G, copies, K]) : repeated([T, 1, G, K], [T, copies, G, K]);
  return program.reshape(wide, { shape: [T, H, K] });
}
