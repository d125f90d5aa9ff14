import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { StateShape } from "../../../load/modelShape.ts";
import type { ModelConfig } from "../../config.ts";
import type { Layer } from "../layer.ts";
import { lastExtent } from "../section.ts";
import { deltaScan } from "./deltaNet.ts";
import { stateName } from "./ssm.ts";

/** Elements of a head's key and value. @throws {ModelError} if they do not divide the model's width */
export function readHeadSize(file: MetadataReader): number {
  const [size, d] = [file.requiredSize("wkv.head_size"), file.requiredSize("embedding_length")];
  file.finish();
  if (d % size === 0) return size;
  throw new ModelError(
    `metadata: expected ${file.key("wkv.head_size")} to divide embedding_length, got ${size} and ${d}; convert the model again`,
  );
}

/** What a layer sees of the token before: inputs of its parts, or what RWKV-6's state takes up. */
export type Shifted = "time" | "channels" | "key" | "value" | "decay";

/** The config with states for each layer: what it sees of the token before, and the heads' states. */
export function withRwkvStates(config: ModelConfig, size: number, shifted: readonly Shifted[]): ModelConfig {
  const { layers, embeddingLength: d } = config;
  const states = Array.from({ length: layers }, (_, layer) => layer).flatMap((layer): StateShape[] => [
    ...shifted.map((part) => ({ name: stateName(layer, `convolution.${part}`), layer, shape: [1, d] })),
    { name: stateName(layer, "scan"), layer, shape: [d / size, size, size] },
  ]);
  return { ...config, states };
}

/** What `x [T, d]` was at the token before, 0 at the first: `[T, d]`. The layer's state goes on. */
export function tokenBefore({ model, index }: Layer, part: Shifted, x: Value): Value {
  const { program, positions } = model;
  const { tensor, rows } = model.state(stateName(index, `convolution.${part}`));
  const d = lastExtent(x);
  const firstOfTwo = Float32Array.from({ length: 2 * d }, (_, i) => 1 - (i % 2));
  const y = program.ssmConv(x, program.constant(firstOfTwo, "f32", [d, 2]), tensor, positions, rows);
  program.ssmConvWrite(tensor, x, positions, rows);
  return y;
}

/** Values of the first layer, which later layers mix into their own. */
export interface FirstValues {
  values?: Value;
}

/**
 * Time mixing (Peng et al., 2025, "RWKV-7 Goose", section 4): linear attention under the generalized delta rule; see the op `deltaScan`.
 * `x [T, d] -> [T, d]`
 */
export function timeMix(layer: Layer, x: Value, size: number, first: FirstValues): Value {
  const { program, T, config } = layer.model;
  const { embeddingLength: d } = config;
  const H = d / size;
  const toHeads = (y: Value): Value => program.reshape(y, { shape: [T, H, size] });
  const vector = (name: string): Value => layer.weights.vector(`time_mix_${name}.weight`, d);
  const mixed = mixtures(layer, x);
  const low = (name: string, y: Value, bend: (z: Value) => Value = (z) => z): Value =>
    layer.unscaledProduct(`time_mix_${name}2`, bend(layer.unscaledProduct(`time_mix_${name}1`, y, { rows: rankOf(layer, name) })), {
      rows: d,
    });
  const product = (name: string, y: Value): Value => layer.unscaledProduct(`time_mix_${name}`, y, { rows: d });
  const r = toHeads(product("receptance", mixed("receptance")));
  const steps = program.sigmoid(
    program.add(
      low("w", mixed("decay"), (y) => program.tanh(y)),
      vector("w0"),
    ),
  );
  const decay = toHeads(program.exp(program.scale(steps, { by: -0.606531 })));
  const key = product("key", mixed("key"));
  const v = toHeads(
    sharedValues(layer, product("value", mixed("value")), first, () => program.add(low("v", mixed("value")), vector("v0"))),
  );
  const rate = program.sigmoid(program.add(low("a", mixed("rate")), vector("a0")));
  const removed = unitHeads(layer, toHeads(program.mul(key, vector("k_k"))));
  const replaced = program.mul(key, vector("k_a"));
  const k = toHeads(program.add(key, program.sub(program.mul(rate, replaced), replaced)));
  const y = deltaScan(layer, { q: r, k, v, decay, a: program.neg(removed), b: program.mul(removed, toHeads(rate)) });
  const own = program.sum(program.mul(program.mul(k, r), program.reshape(vector("r_k"), { shape: [H, size] })), {
    axis: -1,
    keepDims: true,
  });
  const sum = program.add(headNorm(layer, y), program.reshape(program.mul(v, own), { shape: [T, d] }));
  const hasGate = layer.weights.has("time_mix_g1.weight");
  const gated = hasGate ? program.mul(sum, gate(layer, mixed("gate"))) : sum;
  return layer.unscaledProduct("time_mix_output", gated, { rows: d });
}

const parts = ["receptance", "decay", "key", "value", "rate", "gate"] as const;

/** Each part's mixture of `x [T, d]` with what it was at the token before. */
function mixtures(layer: Layer, x: Value): (part: (typeof parts)[number]) => Value {
  const { program } = layer.model;
  const d = lastExtent(x);
  const [count = parts.length] = layer.weights.shape("time_mix_lerp_fused.weight") ?? [];
  const factors = layer.weights.vector("time_mix_lerp_fused.weight", [count, d]);
  const change = program.sub(tokenBefore(layer, "time", x), x);
  return (part) => {
    const at = parts.indexOf(part);
    const own = program.reshape(program.slice(factors, { axis: 0, start: at, end: at + 1 }), { shape: [d] });
    return program.add(x, program.mul(change, own));
  };
}

/** `v [T, d]`, moved towards the first layer's values. */
function sharedValues({ model: { program } }: Layer, v: Value, first: FirstValues, share: () => Value): Value {
  if (first.values === undefined) {
    first.values = v;
    return v;
  }
  return program.add(v, program.mul(program.sub(first.values, v), program.sigmoid(share())));
}

function gate(layer: Layer, x: Value): Value {
  const { program, config } = layer.model;
  const inner = program.sigmoid(layer.unscaledProduct("time_mix_g1", x, { rows: rankOf(layer, "g") }));
  return layer.unscaledProduct("time_mix_g2", inner, { rows: config.embeddingLength });
}

/** Rows of the first of two matrices of a low rank. */
function rankOf({ weights }: Layer, name: string): number {
  return weights.shape(`time_mix_${name}1.weight`)?.[0] ?? 1;
}

/** Each head's vector of `x [T, H, size]` at length 1. */
function unitHeads({ model: { program } }: Layer, x: Value): Value {
  const length = program.normL2(x, { axis: -1, keepDims: true });
  return program.div(x, program.maximum(length, program.constant(Float32Array.of(1e-12), "f32", [1])));
}

/** `y [T, H, size] -> [T, d]`, each head normed by itself, if the file has weights for that. */
export function headNorm({ model: { program, T, config }, weights }: Layer, y: Value): Value {
  const d = config.embeddingLength;
  const flat = (z: Value): Value => program.reshape(z, { shape: [T, d] });
  if (!weights.has("time_mix_ln.weight")) return flat(y);
  const size = lastExtent(y);
  const normed = program.layerNorm(y, program.constant(new Float32Array(size).fill(1), "f32", [size]), { eps: 64e-5 });
  return program.add(program.mul(flat(normed), weights.vector("time_mix_ln.weight", d)), weights.vector("time_mix_ln.bias", d));
}
