import { type MixTensor, tensorTypes } from "@centella/gguf";
import type { GgmlType } from "@centella/quant";
import { elementAt } from "@centella/quant/checks";
import { isWeightType, type WeightType } from "./blocks.ts";
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

/** Every tensor of a model in the order of llama.cpp's converter, with the types that its `llama-quantize` gives them. */
export function tensorPlans(shape: ModelShape, fileType: FileType): readonly TensorPlan[] {
  const { architecture, embedding: d, feedForward, heads, kvHeads, headSize, vocabulary, layers, isTied, hasBias } = shape;
  const tensors: (MixTensor & { readonly scale: number })[] = [];
  const matrix = (name: string, rows: number, columns: number): void => {
    tensors.push({ name: `${name}.weight`, type: "f16", shape: [rows, columns], scale: 1 / Math.sqrt(columns) });
  };
  const vector = (name: string, length: number): void => {
    tensors.push({ name, type: "f32", shape: [length], scale: 0 });
  };
  if (shape.ropeScaling !== undefined) vector("rope_freqs.weight", headSize / 2);
  matrix("token_embd", vocabulary, d);
  for (let layer = 0; layer < layers; layer++) {
    const block = `blk.${layer}`;
    vector(`${block}.attn_norm.weight`, d);
    matrix(`${block}.attn_q`, heads * headSize, d);
    matrix(`${block}.attn_k`, kvHeads * headSize, d);
    matrix(`${block}.attn_v`, kvHeads * headSize, d);
    if (hasBias) {
      vector(`${block}.attn_q.bias`, heads * headSize);
      vector(`${block}.attn_k.bias`, kvHeads * headSize);
      vector(`${block}.attn_v.bias`, kvHeads * headSize);
    }
    matrix(`${block}.attn_output`, d, heads * headSize);
    vector(`${block}.ffn_norm.weight`, d);
    matrix(`${block}.ffn_gate`, feedForward, d);
    matrix(`${block}.ffn_up`, feedForward, d);
    matrix(`${block}.ffn_down`, d, feedForward);
  }
  vector("output_norm.weight", d);
  if (!isTied) matrix("output", vocabulary, d);
  const types = tensorTypes(fileType, { architecture, layers, headsPerKv: heads / kvHeads, experts: 0 }, tensors);
  return tensors.map(({ name, shape, scale }, i) => ({ name, shape, scale, type: generated(elementAt(types, i)) }));
}

function generated(type: GgmlType): TensorPlan["type"] {
  if (type === "f32" || isWeightType(type)) return type;
  throw new Error(`model: expected a type that random blocks can be made of, got ${type}; add it to blocks.ts`);
}
