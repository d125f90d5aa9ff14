import type { KeyTable, ModelBuilder } from "../../../model/modelBuilder.ts";

/**
 * The chunks of `length` tokens that texts are divided into, as tables of keys: queries see their own chunk. In the table of another chunk
 * their position is -1, which sees nothing. Undefined if the context is a single chunk.
 */
export function chunksOf({ program, contextLength, texts }: ModelBuilder, length: number): readonly KeyTable[] | undefined {
  if (length >= contextLength) return undefined;
  const { positions, blocks, lengths, blockSize } = texts;
  const slots = Number(blocks.spec.shape[1]) * blockSize;
  return Array.from({ length: Math.ceil(contextLength / length) }, (_, index): KeyTable => {
    const start = index * length;
    const end = Math.min(start + length, slots);
    const within = Int32Array.from({ length: contextLength }, (_value, at) => (at >= start && at < end ? at - start : -1));
    return {
      ...texts,
      positions: program.gather(program.constant(within, "i32", [contextLength]), positions, { axis: 0 }),
      blocks: program.slice(blocks, { axis: 1, start: start / blockSize, end: end / blockSize }),
      lengths: program.expand(program.constant(Int32Array.of(end - start), "i32", [1]), { shape: lengths.spec.shape }),
    };
  });
}
