import type { Operand } from "@centella/core";
import type { Heap } from "../heap.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { emitAttention } from "./shared/attention.ts";

type Params = ParamsOf<"attention">;

/** Multiply-adds per call. */
const workPerCall = 2e7;

/** i32 fields of a segment: first slot, number of positions, first position less the query's. */
const segmentFields = 3;

export const attention: Kernel<Params> = {
  emit(module, target) {
    for (const dtype of ["f32", "f16"] as const) emitAttention(module, target, dtype);
  },
  unsupported: ([, cache]) => (cache!.dtype === "q8_0" ? "a q8_0 cache is not read here yet; use f32 or f16" : undefined),
  build(context, [q, cache, positions, seqOf, blockTable, seqLens, sinks], params, y) {
    const { heap, max, exports, reserve } = context;
    const { dtype } = cache!.spec;
    const call = exports(`attention.${dtype}`);
    const elementBytes = dtype === "f16" ? 2 : 4;
    const [, heads] = max(q!).shape as readonly [number, number, number];
    const mostPositions = max(blockTable!).shape[1]! * params.blockSize;
    const scoreBytes = 64 * Math.ceil((4 * mostPositions) / 64 + 1);
    reserve(scoreBytes + 4 * segmentFields * (mostPositions + 1));
    const slopes = params.alibi > 0 ? slopeTable(context.table(4 * heads), heap, heads, params.alibi) : () => 0;
    const visible = segmentsOf(
      heap,
      { cache: cache!, positions: positions!, seqOf: seqOf!, blockTable: blockTable!, seqLens: seqLens! },
      params,
    );
    return function* (run) {
      const [tokens, , dK] = run.shape(q!) as readonly [number, number, number];
      const [, kvHeads, width] = run.shape(cache!) as readonly [number, number, number];
      const dV = width - dK;
      const [from, to, memory] = [run.address(q!), run.address(y), run.address(cache!)];
      const [sinksAt, segmentsAt, slopesAt] = [sinks === undefined ? 0 : run.address(sinks), run.scratch + scoreBytes, slopes()];
      const segments = visible(run);
      for (let t = 0; t < tokens; t++) {
        const { count, positions: seen } = segments(t, segmentsAt);
        const headsPerCall = Math.max(1, Math.floor(workPerCall / Math.max(1, seen * width)));
        for (let head = 0; head < heads; head += headsPerCall) {
          const end = Math.min(heads, head + headsPerCall);
          call(
            from + 4 * t * heads * dK,
            memory,
            to + 4 * t * heads * dV,
            run.scratch,
            segmentsAt,
            count,
            seen,
            head,
            end,
            heads / kvHeads,
            dK,
            dV,
            kvHeads * width * elementBytes,
            width * elementBytes,
            slopesAt,
            sinksAt,
            params.scale,
            params.softcap,
          );
          yield;
        }
      }
    };
  },
};

interface Tables {
  readonly cache: Operand;
  readonly positions: Operand;
  readonly seqOf: Operand;
  readonly blockTable: Operand;
  readonly seqLens: Operand;
}

/**
 * Writes what a query sees as runs of neighbouring slots: `segments(t, address)` tells how many there are and how many positions
 * they hold. Positions outside the tables or the cache are not seen.
 */
function segmentsOf(
  heap: Heap,
  tables: Tables,
  { blockSize, causal, window }: Params,
): (
  run: Parameters<ReturnType<Kernel["build"]>>[0],
) => (t: number, address: number) => { readonly count: number; readonly positions: number } {
  return (run) => {
    const [size] = run.shape(tables.cache) as readonly [number];
    const [sequences, maxBlocks] = run.shape(tables.blockTable) as readonly [number, number];
    const [positions, seqOf, blockTable, seqLens] = [tables.positions, tables.seqOf, tables.blockTable, tables.seqLens].map(
      (operand) => run.address(operand) / 4,
    ) as [number, number, number, number];
    return (t, address) => {
      const memory = heap.i32;
      const position = memory[positions + t]!;
      const sequence = memory[seqOf + t]!;
      if (sequence < 0 || sequence >= sequences) return { count: 0, positions: 0 };
      const length = Math.min(memory[seqLens + sequence]!, maxBlocks * blockSize);
      const end = causal ? Math.min(length, position + 1) : length;
      let [at, count, seen] = [address / 4 - segmentFields, 0, 0];
      let next = -1;
      for (let j = window > 0 ? Math.max(0, position - window + 1) : 0; j < end; ) {
        const slot = memory[blockTable + sequence * maxBlocks + Math.floor(j / blockSize)]! * blockSize + (j % blockSize);
        const run = Math.min(end, (Math.floor(j / blockSize) + 1) * blockSize) - j;
        const inside = slot < 0 ? 0 : Math.max(0, Math.min(run, size - slot));
        if (inside > 0 && slot === next) memory[at + 1]! += inside;
        else if (inside > 0) {
          at += segmentFields;
          count++;
          memory[at] = slot;
          memory[at + 1] = inside;
          memory[at + 2] = j - position;
        }
        next = inside === run ? slot + run : -1;
        seen += inside;
        j += run;
      }
      return { count, positions: seen };
    };
  };
}

/** ALiBi's slopes (Press et al., 2022, section 3; ggml's rule for head counts that are no power of two), written when first asked for. */
function slopeTable(table: () => number, heap: Heap, heads: number, maxBias: number): () => number {
  let isWritten = false;
  return () => {
    if (!isWritten) {
      const power = 2 ** Math.floor(Math.log2(heads));
      for (let h = 0; h < heads; h++) {
        const exponent = h < power ? (-maxBias / power) * (h + 1) : (-maxBias / 2 / power) * (2 * (h - power) + 1);
        heap.f32[table() / 4 + h] = 2 ** exponent;
      }
      isWritten = true;
    }
    return table();
  };
}
