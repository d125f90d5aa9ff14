import type { WeightType } from "./blocks.ts";
import type { ModelShape } from "./shapes.ts";

/** Recipes of quantisation, with their numbers in `general.file_type`. */
export const fileTypes = { F16: 1, Q4_0: 2, Q8_0: 7, Q4_K_M: 15 } as const;

export type FileType = keyof typeof fileTypes;

/** A tensor of the file; shape row-major. */
export interface TensorPlan {
  readonly name: string;
  readonly type: WeightType | "f32";
  readonly shape: readonly number[];
  /** Root mean square of its random values; vectors have values of their own. */
  readonly scale: number;
}

const baseTypes: Readonly<Record<FileType, WeightType>> = { F16: "f16", Q4_0: "q4_0", Q8_0: "q8_0", Q4_K_M: "q4_K" };

/** Every tensor of a model in the order of llama.cpp's converter, with the types that its `llama-quantize` gives them. */
export function tensorPlans(shape: ModelShape, fileType: FileType): readonly TensorPlan[] {
  const { embedding: d, feedForward, heads, kvHeads, headSize, vocabulary, layers, isTied, hasBias } = shape;
  const matrix = (name: string, rows: number, columns: number, wanted: WeightType): TensorPlan => ({
    name: `${name}.weight`,
    type: fitting(wanted, columns),
    shape: [rows, columns],
    scale: 1 / Math.sqrt(columns),
  });
  const vector = (name: string, length: number): TensorPlan => ({ name, type: "f32", shape: [length], scale: 0 });
  const base = baseTypes[fileType];
  const plans: TensorPlan[] = [];
  if (shape.ropeScaling !== undefined) plans.push(vector("rope_freqs.weight", headSize / 2));
  // Where it is the output matrix too, it has that one's type.
  plans.push(matrix("token_embd", vocabulary, d, isTied ? outputType(base, d) : base));
  for (let layer = 0; layer < layers; layer++) {
    const block = `blk.${layer}`;
    const finer = fileType === "Q4_K_M" && hasMoreBits(layer, layers) ? "q6_K" : base;
    plans.push(vector(`${block}.attn_norm.weight`, d));
    plans.push(matrix(`${block}.attn_q`, heads * headSize, d, base));
    plans.push(matrix(`${block}.attn_k`, kvHeads * headSize, d, base));
    plans.push(matrix(`${block}.attn_v`, kvHeads * headSize, d, finer));
    if (hasBias) {
      plans.push(vector(`${block}.attn_q.bias`, heads * headSize));
      plans.push(vector(`${block}.attn_k.bias`, kvHeads * headSize));
      plans.push(vector(`${block}.attn_v.bias`, kvHeads * headSize));
    }
    plans.push(matrix(`${block}.attn_output`, d, heads * headSize, base));
    plans.push(vector(`${block}.ffn_norm.weight`, d));
    plans.push(matrix(`${block}.ffn_gate`, feedForward, d, base));
    plans.push(matrix(`${block}.ffn_up`, feedForward, d, base));
    plans.push(matrix(`${block}.ffn_down`, d, feedForward, finer));
  }
  plans.push(vector("output_norm.weight", d));
  if (!isTied) plans.push(matrix("output", vocabulary, d, outputType(base, d)));
  return plans;
}

/** Layers whose `attn_v` and `ffn_down` Q4_K_M keeps in q6_K: the first and last eighth, and every third between. */
function hasMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
}

function outputType(base: WeightType, columns: number): WeightType {
  if (base === "f16" || base === "q8_0") return base;
  return columns % 256 === 0 ? "q6_K" : "q8_0";
}

/** A row must hold whole blocks: rows that are no multiple of 256 wide fall back to types with blocks of 32. */
function fitting(type: WeightType, columns: number): WeightType {
  if (columns % 256 === 0) return type;
  if (type === "q4_K") return "q5_0";
  return type === "q6_K" ? "q8_0" : type;
}
