import type { Activations, DType, Program, Value } from "@centella/core";

/** Queries, keys and values of a layer. */
export interface AttentionForm {
  readonly weights: readonly [queries: DType, keys: DType, values: DType];
  readonly columns: readonly [queries: number, keys: number, values: number];
  /** Default: "ggml". */
  readonly activations?: Activations;
}

/** Products of `rows`, `[T, k]`, with the weights of queries, keys and values. */
export function attentionProducts(
  program: Program,
  rows: Value,
  { weights, columns, activations = "ggml" }: AttentionForm,
): { readonly q: Value; readonly k: Value; readonly v: Value } {
  const depth = program.values[rows.id]!.spec.shape[1] as number;
  const [q, k, v] = weights.map((dtype, i) => {
    const weight = program.persistent("qkv"[i]!, { dtype, shape: [columns[i]!, depth] });
    return program.matmul(rows, weight, { transposeB: true, activations });
  });
  return { q: q!, k: k!, v: v! };
}
