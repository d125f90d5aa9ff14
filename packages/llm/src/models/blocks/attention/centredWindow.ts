import type { AttendOptions, ModelBuilder } from "../../../model/modelBuilder.ts";

/**
 * Attention of an encoder's token to the `tokens / 2` tokens on either side of it; 0 is all tokens. It is a causal window of a query
 * further on.
 */
export function centredWindow({ program, texts }: ModelBuilder, tokens: number): AttendOptions {
  if (tokens === 0) return { causal: false };
  const half = Math.floor(tokens / 2);
  const moved = program.add(texts.positions, program.constant(Int32Array.of(half), "i32", [1]));
  return { causal: true, window: 2 * half + 1, tables: [{ ...texts, positions: moved }] };
}
