import type { FunctionBuilder, Local, V128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import type { ActivationFormat } from "./activations.ts";

/** One block of weights against the blocks of activations that it is multiplied with. */
export interface DotOperands {
  readonly weight: Local<"i32">;
  /** Activation blocks, one per token. */
  readonly activations: readonly Local<"i32">[];
  /** Four partial sums in f32 per token. */
  readonly accumulators: readonly Local<"v128">[];
}

/** A ggml block format that kernels read as it is. */
export interface BlockFormat {
  readonly elements: number;
  readonly bytes: number;
  /** The blocks that ggml rounds activations to for this format. */
  readonly activation: ActivationFormat;
  /** Decodes a block, four weights at a time and in order, to exactly the f32 that ggml makes of them. */
  decode(f: FunctionBuilder, target: Target, block: Local<"i32">, sink: (index: number, values: V128) => void): void;
  /** Adds the product of a weight block with each token's activation block: dots in integers, scales in f32. */
  dot(f: FunctionBuilder, target: Target, operands: DotOperands): void;
}
