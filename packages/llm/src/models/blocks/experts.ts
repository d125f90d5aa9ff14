import { UnsupportedError, type Value } from "@centella/core";
import type { Gating } from "@centella/core/backend";
import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { type Activation, activated } from "./activation.ts";
import { type FeedForwardOptions, projectFeedForward } from "./feedForward.ts";
import type { Layer } from "./layer.ts";
import { lastExtent } from "./section.ts";

/** Gating functions of the ops `moeRoute` and `moeWeights`, and the square root of softplus, which is a composition. */
type RouterGating = Gating | "sqrtSoftplus";

/** How a family mixes experts. */
export interface ExpertsOptions {
  /** Gating function if `expert_gating_func` names none. Default "softmax". */
  readonly gating?: Gating;
  /** Whether the weights of the chosen experts are divided by their sum. */
  readonly normalize?: boolean;
  /** Factor of the weights. Default 1. */
  readonly scale?: number | undefined;
  /** An expert that is always chosen, either unweighted or weighted by the sigmoid of a gate of its own. */
  readonly shared?: "plain" | "gated" | undefined;
  /** What the weights multiply: the experts' outputs, or their inputs. Default "outputs". */
  readonly weighted?: "inputs" | "outputs";
  /** A vector other than the layer's state that the experts, but for the shared one, read and write. */
  readonly latent?: ExpertsConfig["latent"];
  /** Whether layers with experts may have the matrices of one without as well, which are left out as in llama.cpp. */
  readonly leavesOutDense?: boolean;
}

/** Mixture of experts of a model; see the ops `moeRoute` and `moeWeights`. */
export interface ExpertsConfig {
  readonly count: number;
  readonly used: number;
  readonly gating: RouterGating;
  readonly groups: number;
  readonly topKGroups: number;
  readonly normalize: boolean;
  readonly scale: number;
  readonly shared: "plain" | "gated" | undefined;
  readonly weighted: "inputs" | "outputs";
  /** Names of its matrices are `name_down` and `name_up`, that of an optional norm is `name_norm`. */
  readonly latent: { readonly name: string; readonly length: number } | undefined;
  readonly leavesOutDense: boolean;
}

const denseTensors = ["ffn_gate", "ffn_up", "ffn_down"].flatMap((name) =>
  ["weight", "scale", "input_scale"].map((part) => `${name}.${part}`),
);

/** Values of `expert_gating_func`, by number. */
const gatingFunctions: readonly (RouterGating | undefined)[] = [undefined, "softmax", "sigmoid", "softmaxOfChosen", "sqrtSoftplus"];

/**
 * Reads the experts of a file; undefined if it has none.
 * @throws {ModelError | UnsupportedError}
 */
export function readExperts(
  file: MetadataReader,
  { gating = "softmax", normalize = false, scale = 1, shared, weighted = "outputs", latent, leavesOutDense = false }: ExpertsOptions,
): ExpertsConfig | undefined {
  const count = file.size("expert_count");
  if (count === undefined) return undefined;
  const used = file.size("expert_used_count");
  if (used === undefined || used > count) {
    throw new ModelError(
      `metadata: expected ${file.key("expert_used_count")} from 1 to ${count}, got ${used ?? "none"}; convert the model again`,
    );
  }
  const stored = file.number("expert_gating_func");
  if (stored !== undefined && gatingFunctions[stored] === undefined)
    throw new UnsupportedError(
      `${file.key("expert_gating_func")} = ${stored}`,
      "the ones computed are 1 (softmax), 2 (sigmoid), 3 (softmax of the chosen) and 4 (square root of softplus)",
    );
  const groups = file.size("expert_group_count") ?? 1;
  const topKGroups = file.size("expert_group_used_count") ?? 1;
  const chosenGating = gatingFunctions[stored ?? 0] ?? gating;
  if (chosenGating === "sqrtSoftplus" && groups > 1)
    throw new UnsupportedError(`${file.key("expert_group_count")} = ${groups}`, "with square roots of softplus, experts are not in groups");
  return { count, used, gating: chosenGating, groups, topKGroups, normalize, scale, shared, weighted, latent, leavesOutDense };
}

export interface ExpertsCall extends FeedForwardOptions {
  /** The experts of each token `[n, k]`, if the router does not choose them. */
  readonly ids?: Value | undefined;
  /** What the choice of experts depends on, `[n, d]`. Default: `x`. */
  readonly routed?: Value | undefined;
  /** End of the names of the experts' tensors. Default "exps". */
  readonly tensors?: "exps" | "chexps";
}

/** `x [n, d] -> [n, d]`: the weighted sum of the outputs of each token's experts, and the output of the shared expert. */
export function experts(layer: Layer, x: Value, config: ExpertsConfig, options: ExpertsCall = {}): Value {
  if (config.leavesOutDense) layer.weights.ignore(...denseTensors);
  const chosen = route(layer, routerLogits(layer, options.routed ?? x, config), config, options.ids);
  const routed = latentMixture(layer, x, chosen, config, options);
  return config.shared === undefined ? routed : layer.model.program.add(routed, sharedExpert(layer, x, config.shared, options));
}

/** The experts' {@link mixture}, within {@link ExpertsConfig.latent} vectors if the config has them. */
function latentMixture(layer: Layer, x: Value, chosen: ChosenExperts, config: ExpertsConfig, options: ExpertsCall): Value {
  if (config.latent === undefined) return mixture(layer, x, chosen, config, options);
  const { name, length } = config.latent;
  const y = mixture(layer, layer.unscaledProduct(`${name}_down`, x, { rows: length }), chosen, config, options);
  const normed = layer.weights.has(`${name}_norm.weight`) ? layer.norm(`${name}_norm`, y) : y;
  return layer.unscaledProduct(`${name}_up`, normed, { rows: layer.model.config.embeddingLength });
}

/** The experts of each token and their factors, both `[n, k]`. */
export interface ChosenExperts {
  readonly ids: Value;
  readonly factors: Value;
}

/** What the choice of experts depends on: `x [n, d] -> [n, E]`. */
export function routerLogits(layer: Layer, x: Value, { count }: ExpertsConfig): Value {
  const { model, weights } = layer;
  const router = model.linear(x, weights.matrix("ffn_gate_inp.weight", [count, model.config.embeddingLength]));
  return layer.bias("ffn_gate_inp", router, { rows: count });
}

/** `x [n, d] -> [n, d]`: the weighted sum of the outputs of each token's experts. */
export function mixture(layer: Layer, x: Value, { ids, factors }: ChosenExperts, config: ExpertsConfig, options: ExpertsCall = {}): Value {
  const { program } = layer.model;
  const { tensors = "exps" } = options;
  const width = lastExtent(x);
  const weights = program.reshape(factors, { shape: [...ids.spec.shape, 1] });
  const weighsInputs = config.weighted === "inputs";
  const input = weighsInputs ? program.mul(program.reshape(x, { shape: [rowsOf(x), 1, width] }), weights) : x;
  const inner = expertActivations(layer, input, ids, config, options); // [n, k, f]
  const outputs = expertLinear(layer, `ffn_down_${tensors}`, inner, ids, width, config, options); // [n, k, d]
  return program.sum(weighsInputs ? outputs : program.mul(outputs, weights), { axis: 1 });
}

/** Chooses experts for each token, by the router's `logits [n, E]`, unless `ids` names them. */
function route({ model: { program }, weights }: Layer, logits: Value, config: ExpertsConfig, given?: Value): ChosenExperts {
  const bias = weights.optionalVector(weights.has("exp_probs_b") ? "exp_probs_b" : "exp_probs_b.bias", config.count);
  const ids = given ?? bestExperts(program, logits, config, bias);
  return { ids, factors: expertFactors(program, logits, ids, config) };
}

/** The experts of the best scores: `logits [n, E], bias [E]? -> ids [n, k]`. */
export function bestExperts(
  program: ModelBuilder["program"],
  logits: Value,
  { used: k, gating, groups, topKGroups }: Pick<ExpertsConfig, "used" | "gating" | "groups" | "topKGroups">,
  bias?: Value,
): Value {
  if (gating !== "sqrtSoftplus") return program.moeRoute(logits, { k, gating, groups, topKGroups, ...(bias && { bias }) });
  const gates = sqrtSoftplus(program, logits);
  return program.topKIndices(bias === undefined ? gates : program.add(gates, bias), { k });
}

/** The factors of chosen experts: `logits [n, E], ids [n, k] -> [n, k]`. */
export function expertFactors(
  program: ModelBuilder["program"],
  logits: Value,
  ids: Value,
  { gating, normalize, scale }: Pick<ExpertsConfig, "gating" | "normalize" | "scale">,
): Value {
  if (gating !== "sqrtSoftplus") return program.moeWeights(logits, ids, { gating, normalize, scale });
  const gates = program.takeAlongAxis(sqrtSoftplus(program, logits), ids, { axis: 1 });
  if (!normalize) return program.scale(gates, { by: scale });
  const sum = program.maximum(program.sum(gates, { axis: 1, keepDims: true }), program.constant(Float32Array.of(leastSum), "f32", [1]));
  return program.scale(program.div(gates, sum), { by: scale });
}

/** Least sum of gates that they are divided by; see the op `moeWeights`. */
const leastSum = 2 ** -14;

function sqrtSoftplus(program: ModelBuilder["program"], logits: Value): Value {
  return program.sqrt(program.softplus(logits));
}

/** `x [n, d]` or `[n, k, d] -> [n, k, f]`: the experts' gates and inputs of the last product, which are two tensors or one. */
function expertActivations(layer: Layer, x: Value, ids: Value, config: ExpertsConfig, options: ExpertsCall): Value {
  const { model, weights } = layer;
  const { program } = model;
  const { activation = "silu", tensors = "exps" } = options;
  const project = (name: string, rows: number): Value => expertLinear(layer, name, x, ids, rows, config, options);
  // Files name the width of experts by different keys, or not at all.
  const fusedRows = weights.has(`ffn_gate_up_${tensors}.weight`) ? weights.shape(`ffn_gate_up_${tensors}.weight`)?.[1] : undefined;
  if (fusedRows !== undefined) {
    const f = fusedRows / 2;
    const both = project(`ffn_gate_up_${tensors}`, fusedRows); // gates first
    const part = (index: number): Value => program.slice(both, { axis: -1, start: index * f, end: (index + 1) * f });
    return activated(model, activation, part(0), part(1));
  }
  const f = weights.shape(`ffn_up_${tensors}.weight`)?.[1] ?? model.config.feedForwardLength;
  const up = project(`ffn_up_${tensors}`, f);
  return activated(model, activation, weights.has(`ffn_gate_${tensors}.weight`) ? project(`ffn_gate_${tensors}`, f) : undefined, up);
}

/**
 * `x [n, columns]` or `[n, k, columns] -> [n, k, rows]`: each token's product with the experts `[count, rows, columns]` that `ids [n, k]`
 * names, times a scale if there is one, adapters added; see the `moeMatmul` op.
 */
export function expertProduct(m: ModelBuilder, x: Value, weights: Value, ids: Value, scale?: Value): Value {
  const { program, adapters } = m;
  const multiply = (z: Value, w: Value): Value => program.moeMatmul(z, w, ids, { activations: m.activationsFor(w) });
  const product = multiply(x, weights);
  const y = scale === undefined ? product : program.mul(product, scale);
  const origin = m.weights.expertsOriginOf(weights);
  return adapters === undefined || origin === undefined ? y : adapters.addToExperts(y, x, origin, multiply);
}

/** `[T, count]`: 0, 1, … for each token. As ids of experts, they multiply each of `count` vectors of a token by a matrix of its own. */
export function everyIndex({ program, T }: ModelBuilder, count: number): Value {
  const order = Int32Array.from({ length: count }, (_, index) => index);
  return program.expand(program.constant(order, "i32", [1, count]), { shape: [T, count] });
}

/** The product of a layer's tensor of experts, with its scale and bias: `x [n, columns]` or `[n, k, columns] -> [n, k, rows]`. */
function expertLinear(
  { model, weights }: Layer,
  name: string,
  x: Value,
  ids: Value,
  rows: number,
  { count }: ExpertsConfig,
  { scales = false }: FeedForwardOptions,
): Value {
  const { program } = model;
  weights.ignore(`${name}.input_scale`);
  if (!scales) weights.ignore(`${name}.scale`);
  const isScaled = weights.has(`${name}.scale`);
  const factors = isScaled ? program.embedding(weights.vector(`${name}.scale`, [count, 1]), ids) : undefined; // [n, k, 1]
  const product = expertProduct(model, x, weights.matrix(`${name}.weight`, [count, rows, lastExtent(x)]), ids, factors);
  if (!weights.has(`${name}.bias`)) return product;
  return program.add(product, program.embedding(weights.vector(`${name}.bias`, [count, rows]), ids));
}

/** `x [n, d] -> [n, d]` */
function sharedExpert(layer: Layer, x: Value, kind: "plain" | "gated", options: FeedForwardOptions): Value {
  const { activation = "silu", sharedActivation = activation, scales = false } = options;
  const { model, weights } = layer;
  const { program } = model;
  const d = model.config.embeddingLength;
  const f = weights.shape("ffn_up_shexp.weight")?.[0] ?? d;
  const project = (name: string, y: Value, rows: number): Value => projectFeedForward(layer, name, y, { rows }, scales);
  const inner = sharedActivations(layer, x, f, sharedActivation, project);
  const y = project("ffn_down_shexp", inner, d);
  if (kind === "plain") return y;
  const gate = model.linear(x, weights.matrix("ffn_gate_inp_shexp.weight", [1, d])); // [n, 1]
  return program.mul(y, program.sigmoid(gate));
}

/** Gates and inputs of the shared expert's last product: two tensors, or one of twice the width, gates first. */
function sharedActivations(
  { model, weights }: Layer,
  x: Value,
  rows: number,
  activation: Activation,
  project: (name: string, y: Value, rows: number) => Value,
): Value {
  const up = project("ffn_up_shexp", x, rows);
  if (weights.has("ffn_gate_shexp.weight")) return activated(model, activation, project("ffn_gate_shexp", x, rows), up);
  const inner = weights.shape("ffn_down_shexp.weight")?.[1] ?? rows;
  if (2 * inner !== rows) return activated(model, activation, undefined, up);
  const part = (index: number): Value => model.program.slice(up, { axis: -1, start: index * inner, end: (index + 1) * inner });
  return activated(model, activation, part(0), part(1));
}

function rowsOf({ spec }: Value): Value["spec"]["shape"][number] {
  return spec.shape[0] ?? 1;
}
