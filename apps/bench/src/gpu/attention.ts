import { randomBlocks } from "../model/blocks.ts";
import { uniform } from "../stats/random.ts";
import { type GpuKernel, limits, type ModeOf, type Operand, rowsOf, type Scale, spread } from "./kernel.ts";

interface AttentionShape {
  readonly tokens: number;
  /** Positions in the cache, those of the tokens among them. */
  readonly keys: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly size: number;
  /** Positions per block of the cache. */
  readonly blockSize: number;
}

/** Positions per block of a paged cache, as models have. */
const pageSize = 32;

/** The heads of Llama 3.1 8B, and of a software GPU's shapes. */
const heads = { full: { heads: 32, kvHeads: 8, size: 128 }, tiny: { heads: 4, kvHeads: 2, size: 32 } } as const;

/** Prompts over a paged cache and over one of a single block, and one token at the end of a long text. */
const shapes: Readonly<Record<Scale, readonly AttentionShape[]>> = {
  full: [
    ...[2048, 4096, 8192].flatMap((tokens) => prompt(tokens, tokens, "full")),
    ...[2048, 32768].map((keys) => ({ tokens: 1, keys, blockSize: pageSize, ...heads.full })),
  ],
  tiny: [...prompt(10, 40, "tiny"), { tokens: 1, keys: 100, blockSize: pageSize, ...heads.tiny }],
};

function prompt(tokens: number, keys: number, scale: Scale): readonly AttentionShape[] {
  return [pageSize, keys].map((blockSize) => ({ tokens, keys, blockSize, ...heads[scale] }));
}

/** Causal attention over a cache of halves. The blocks of a paged one are out of order. */
export function attentionKernels(scale: Scale, modeOf: ModeOf): readonly GpuKernel[] {
  const activations = modeOf("f16") === "f32" ? "f32" : "half";
  return shapes[scale].map((shape): GpuKernel => {
    const { tokens, keys, heads, kvHeads, size, blockSize } = shape;
    const isPrompt = tokens > 1;
    const isPaged = blockSize < keys;
    // A query sees the keys up to its own; the tokens are the last of them.
    const pairs = tokens * (keys - tokens) + (tokens * (tokens + 1)) / 2;
    return {
      group: "attention",
      name: `${isPrompt ? `prompt of ${tokens}` : "one token"} at ${keys}, ${heads}/${kvHeads} heads of ${size}, f16${isPaged ? "" : ", one block"}`,
      bytes: 2 * keys * kvHeads * 2 * size + 2 * 4 * tokens * heads * size,
      flops: 4 * pairs * heads * size,
      unit: "tensor",
      operands: () => operandsOf(shape),
      call: (program, [q, cache, positions, seqOf, blockTable, seqLens]) =>
        program.attention(q!, cache!, positions!, seqOf!, blockTable!, seqLens!, { scale: 1 / Math.sqrt(size), blockSize, activations }),
      sample([q, cache, positions, seqOf, ...tables]) {
        const taken = spread(tokens, 3);
        const row = heads * size;
        return {
          operands: [rowsOf(q!, taken), cache!, rowsOf(positions!, taken), rowsOf(seqOf!, taken), ...tables],
          at: (index) => taken[Math.floor(index / row)]! * row + (index % row),
        };
      },
      limit: limits[activations],
      // The peer's cache has no blocks.
      ...(isPaged && { peer: { op: "attention", tokens, keys, heads, kvHeads, size } }),
    };
  });
}

function operandsOf({ tokens, keys, heads, kvHeads, size, blockSize }: AttentionShape): readonly Operand[] {
  const blocks = Math.ceil(keys / blockSize);
  const slots = blocks * blockSize;
  const i32 = (data: Int32Array, shape: readonly number[]): Operand => ({ spec: { dtype: "i32", shape }, data });
  const halves = randomBlocks("f16", slots * kvHeads * 2 * size, 17, 1);
  return [
    { spec: { dtype: "f32", shape: [tokens, heads, size] }, data: uniform(19, tokens * heads * size) },
    { spec: { dtype: "f16", shape: [slots, kvHeads, 2 * size] }, data: new Uint16Array(halves.buffer) },
    i32(
      Int32Array.from({ length: tokens }, (_, t) => keys - tokens + t),
      [tokens],
    ),
    i32(new Int32Array(tokens), [tokens]),
    i32(
      Int32Array.from({ length: blocks }, (_, block) => blocks - 1 - block),
      [1, blocks],
    ),
    i32(Int32Array.of(keys), [1]),
  ];
}
