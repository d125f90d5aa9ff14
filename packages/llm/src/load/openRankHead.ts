import { createRecorder, UnsupportedError, type Value } from "@centella/core";
import type { GgufFile } from "@centella/gguf";
import { named } from "@centella/quant/checks";
import { filePooling, type Pooling } from "../model/pooling.ts";
import { RankHead, textsPerRun } from "../model/rankHead.ts";
import { type ActivationContext, activate } from "../models/blocks/activation.ts";
import { classifierHeads } from "../models/blocks/classifierHeads.ts";
import type { ModelConfig } from "../models/config.ts";
import type { CompiledModel, ProgramSource } from "./compileModel.ts";
import { type PartWeights, WeightTable } from "./weights.ts";

/** How families differ in what follows the last layer. */
interface HeadTraits {
  /** The states that the head reads. */
  readonly pooling: Pooling;
  readonly activation: "tanh" | "gelu";
  /** Whether labels compete, so that a score is a probability. */
  readonly isSoftmax: boolean;
}

const bert: HeadTraits = { pooling: "cls", activation: "tanh", isSoftmax: false };
const qwen3: HeadTraits = { ...bert, pooling: "last", isSoftmax: true };
/** Traits by architecture, as in `build_pooling` of llama.cpp; all others have BERT's. */
const traitsOf: Readonly<Record<string, HeadTraits>> = {
  "modern-bert": { pooling: "mean", activation: "gelu", isSoftmax: false },
  qwen3,
  qwen3vl: qwen3,
};

/**
 * Compiles a file's classification head for the device of the model, and loads its weights.
 * @throws {UnsupportedError} if the file has none; {ModelError} if its tensors do not fit; {OutOfMemoryError}
 */
export async function openRankHead(
  { runtime, file, description: { config } }: ProgramSource,
  { plan: model, sizes }: Pick<CompiledModel, "plan" | "sizes">,
): Promise<RankHead> {
  const { architecture } = config;
  requireReranker(file, config);
  const traits = Object.hasOwn(traitsOf, architecture) ? named(traitsOf, architecture) : bert;
  const program = createRecorder();
  const weights = new WeightTable(program, file);
  weights.ignore(...file.tensors.map(({ name }) => name).filter((name) => !classifierHeads.includes(name)));
  const states = program.input("states", "f32", [program.dim("nTexts", textsPerRun), config.embeddingLength]);
  const { isGeluRounded } = sizes;
  program.output("scores", recordHead({ program, isGeluRounded }, states, { file, config, traits, weights: weights.of("output") }));
  const loads = weights.finish();
  const plan = await runtime.compile(program, { shareWith: model });
  try {
    for (const { name, source } of loads) await plan.load(name, source);
  } catch (error) {
    plan.dispose();
    throw error;
  }
  return new RankHead(plan, traits.pooling);
}

/**
 * Converters state the pooling of some rerankers only, but a head with one label is for scores.
 * @throws {UnsupportedError}
 */
function requireReranker(file: GgufFile, { embeddingLength }: ModelConfig): void {
  const head = file.optionalTensor("cls.output.weight") ?? file.optionalTensor("cls.weight");
  const fix = "use a reranker, or compare vectors of model.embed()";
  if (head === undefined)
    throw new UnsupportedError("rerank", `the file has no classification head (cls.weight or cls.output.weight); ${fix}`);
  const labels = head.elements / embeddingLength;
  if (labels > 1 && filePooling(file.metadata) !== "rank")
    throw new UnsupportedError("rerank", `the file classifies texts by ${labels} labels, and its pooling_type is not rank; ${fix}`);
}

interface HeadParts {
  readonly file: GgufFile;
  readonly config: ModelConfig;
  readonly traits: HeadTraits;
  readonly weights: PartWeights;
}

/** Pooled states `[n, d] -> [n, labels]`: a layer with an activation and a norm, and a layer to the labels. A file may lack either. */
function recordHead(context: ActivationContext, states: Value, { file, config, traits, weights }: HeadParts): Value {
  const { program } = context;
  const { embeddingLength: d, epsilon: eps } = config;
  const linear = (name: string, x: Value): Value => {
    // GGUF writes a matrix of one row as a vector.
    const rows = Math.max(1, Math.floor((file.optionalTensor(`${name}.weight`)?.elements ?? 0) / d));
    const y = program.matmul(x, weights.matrix(`${name}.weight`, [rows, d]), { transposeB: true });
    const bias = weights.optionalVector(`${name}.bias`, rows);
    return bias === undefined ? y : program.add(y, bias);
  };
  let y = states;
  if (weights.has("cls.weight")) {
    const dense = linear("cls", y);
    y = traits.activation === "gelu" ? activate(context, "gelu", dense) : program.tanh(dense);
    const norm = weights.optionalVector("cls.norm.weight", d);
    if (norm !== undefined) y = program.layerNorm(y, norm, { eps });
  }
  if (weights.has("cls.output.weight")) y = linear("cls.output", y);
  return traits.isSoftmax ? program.softmax(y) : y;
}
