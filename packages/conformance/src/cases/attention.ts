import { attentionGoldens } from "../goldens/attention.ts";
import { f32, i32, type OpCases, tensor } from "../opCases.ts";
import { wrongAttention } from "./shared/wrongAttention.ts";

/** A block table whose blocks are not consecutive. */
const tenBlocks = [3, 4, 9, 0, 1, 2, 8, 7, 5, 6];

const upTo = (end: number): number[] => Array.from({ length: end }, (_, i) => i);

export const attention: OpCases<"attention"> = {
  // Scores of size 4 in f32 are off by 1e-6, so weights by 1e-6 relative; f16 caches are decoded before they are multiplied.
  tolerance: { f32: { rtol: 1e-4, atol: 1e-5 } },
  cases: [
    ...attentionGoldens,
    {
      name: "paged",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      // Scores are off by up to 0.35 * 8 * 2^-10, weights by twice as much relative.
      name: "f16 cache, half activations",
      inputs: [
        f32(3, 4, 8),
        tensor("f16", 16, 2, 14),
        i32([3], [5, 2, 9]),
        i32([3], [0, 1, 0]),
        i32([2, 3], [2, 0, 3, 1, 0, 0]),
        i32([2], [10, 3]),
      ],
      params: { scale: 0.35, blockSize: 4, activations: "half" },
      tolerance: { rtol: 0, atol: 7e-3 },
    },
    {
      name: "f16 cache",
      inputs: [
        f32(3, 4, 8),
        tensor("f16", 16, 2, 14),
        i32([3], [5, 2, 9]),
        i32([3], [0, 1, 0]),
        i32([2, 3], [2, 0, 3, 1, 0, 0]),
        i32([2], [10, 3]),
      ],
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      name: "f16 cache, odd sizes",
      inputs: [
        f32(3, 3, 5),
        tensor("f16", 16, 1, 12),
        i32([3], [5, 2, 9]),
        i32([3], [0, 1, 0]),
        i32([2, 3], [2, 0, 3, 1, 0, 0]),
        i32([2], [10, 3]),
      ],
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      name: "q8_0 cache",
      inputs: [
        f32(3, 4, 32),
        tensor("q8_0", 16, 2, 64),
        i32([3], [5, 2, 9]),
        i32([3], [0, 1, 0]),
        i32([2, 3], [2, 0, 3, 1, 0, 0]),
        i32([2], [10, 3]),
      ],
      params: { scale: 0.2, blockSize: 4 },
    },
    {
      name: "window",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, window: 3 },
    },
    {
      name: "window larger than all",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, window: 100 },
    },
    {
      name: "not causal",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, causal: false },
    },
    {
      name: "softcap",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, softcap: 0.5 },
    },
    {
      name: "alibi, 4 heads",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, alibi: 8 },
    },
    {
      name: "alibi, 6 heads",
      inputs: [f32(3, 6, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, alibi: 8 },
    },
    {
      name: "alibi to both sides",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 0]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, alibi: 8, causal: false },
    },
    {
      name: "window around queries that are moved beyond the sequence",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [11, 2, 7]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4, window: 5 },
    },
    {
      name: "bias by distance, not causal",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 0]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      optional: { bias: f32(4, 7) },
      params: { scale: 0.35, blockSize: 4, causal: false },
    },
    {
      name: "bias in a window, f16 cache, half activations",
      inputs: [
        f32(3, 4, 16),
        tensor("f16", 320, 2, 32),
        i32([3], [297, 298, 299]),
        i32([3], [0, 0, 0]),
        i32([1, 10], tenBlocks),
        i32([1], [300]),
      ],
      optional: { bias: f32(4, 17) },
      params: { scale: 0.25, blockSize: 32, window: 280, activations: "half" },
      tolerance: { rtol: 0, atol: 7e-3 },
    },
    {
      name: "sinks",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      optional: { sinks: f32(4) },
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      name: "sinks and a bias",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [5, 2, 9]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      optional: { sinks: f32(4), bias: f32(4, 7) },
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      name: "everything",
      inputs: [
        f32(3, 4, 8),
        tensor("f16", 16, 2, 14),
        i32([3], [5, 2, 9]),
        i32([3], [0, 1, 0]),
        i32([2, 3], [2, 0, 3, 1, 0, 0]),
        i32([2], [10, 3]),
      ],
      optional: { sinks: f32(4) },
      params: { scale: 0.35, blockSize: 4, window: 4, softcap: 2, alibi: 4 },
    },
    {
      name: "one sequence",
      inputs: [f32(5, 2, 64), f32(77, 2, 128), i32([5], [70, 71, 72, 73, 74]), i32([5], [0, 0, 0, 0, 0]), i32([1, 1], [0]), i32([1], [75])],
      params: { scale: 0.125, blockSize: 77 },
    },
    {
      name: "one query, long",
      inputs: [f32(1, 4, 16), f32(300, 1, 32), i32([1], [283]), i32([1], [0]), i32([1, 1], [0]), i32([1], [284])],
      params: { scale: 0.25, blockSize: 300 },
    },
    {
      name: "one query of an f16 cache, longer than a group sees at once",
      inputs: [f32(1, 2, 8), tensor("f16", 2624, 1, 16), i32([1], [2599]), i32([1], [0]), i32([1, 1], [0]), i32([1], [2600])],
      params: { scale: 0.35, blockSize: 2624 },
    },
    {
      name: "sizes of eights, f16 cache with sinks",
      inputs: [
        f32(3, 4, 16),
        tensor("f16", 320, 2, 40),
        i32([3], [297, 298, 299]),
        i32([3], [0, 0, 0]),
        i32([1, 10], tenBlocks),
        i32([1], [300]),
      ],
      optional: { sinks: f32(4) },
      params: { scale: 0.25, blockSize: 32 },
    },
    {
      name: "many queries, with sinks",
      inputs: [
        f32(132, 8, 8),
        tensor("f16", 160, 2, 24),
        i32([132], upTo(132)),
        i32([132], upTo(132).fill(0)),
        i32([1, 1], [0]),
        i32([1], [132]),
      ],
      optional: { sinks: f32(8) },
      params: { scale: 0.35, blockSize: 160 },
    },
    {
      name: "many queries, with sinks and a bias, q8_0 cache",
      inputs: [
        f32(132, 8, 12),
        tensor("q8_0", 160, 2, 32),
        i32([132], upTo(132)),
        i32([132], upTo(132).fill(0)),
        i32([1, 1], [0]),
        i32([1], [132]),
      ],
      optional: { sinks: f32(8), bias: f32(8, 21) },
      params: { scale: 0.3, blockSize: 160 },
    },
    {
      name: "a group of seven over two blocks",
      inputs: [f32(3, 7, 8), f32(320, 1, 16), i32([3], [297, 298, 299]), i32([3], [0, 0, 0]), i32([1, 10], tenBlocks), i32([1], [300])],
      params: { scale: 0.35, blockSize: 32 },
    },
    {
      name: "window across two blocks",
      inputs: [f32(3, 5, 6), f32(320, 1, 15), i32([3], [297, 298, 299]), i32([3], [0, 0, 0]), i32([1, 10], tenBlocks), i32([1], [300])],
      params: { scale: 0.35, blockSize: 32, window: 270 },
    },
    {
      name: "q8_0 whose blocks lie across keys and values, over two blocks",
      inputs: [
        f32(3, 3, 20),
        tensor("q8_0", 320, 1, 64),
        i32([3], [297, 298, 299]),
        i32([3], [0, 0, 0]),
        i32([1, 10], tenBlocks),
        i32([1], [300]),
      ],
      params: { scale: 0.2, blockSize: 32, window: 290, alibi: 4, softcap: 3 },
    },
    {
      name: "sees nothing",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [0, 0, -1]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 0])],
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      name: "sees nothing, with a sink",
      inputs: [f32(3, 4, 8), f32(16, 2, 14), i32([3], [0, 0, -1]), i32([3], [0, 1, 0]), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 0])],
      optional: { sinks: f32(4) },
      params: { scale: 0.35, blockSize: 4 },
    },
    {
      name: "no queries",
      inputs: [f32(0, 4, 8), f32(16, 2, 14), i32([0], []), i32([0], []), i32([2, 3], [2, 0, 3, 1, 0, 0]), i32([2], [10, 3])],
      params: { scale: 0.35, blockSize: 4 },
    },
  ],
  wrong: wrongAttention,
};
