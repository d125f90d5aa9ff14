import type { Heap } from "../heap.ts";
import type { Kernel, ParamsOf, Run } from "../kernel.ts";
import { emitAttention, emitWiden } from "./shared/attention.ts";
import { type Segments, segmentFields, Visible } from "./shared/visible.ts";

type Params = ParamsOf<"attention">;

/** Multiply-adds per call. */
const workPerCall = 2e7;

/** Most bytes for a copy of one head's keys and values in f32. */
const mostCopied = 16 * 2 ** 20;

export const attention: Kernel<Params> = {
  emit(module, target) {
    for (const dtype of ["f32", "f16"] as const) emitAttention(module, target, dtype);
    emitWiden(module);
  },
  unsupported: ([, cache]) => (cache!.dtype === "q8_0" ? "a q8_0 cache is not read here yet; use f32 or f16" : undefined),
  build(context, [q, cache, positions, seqOf, blockTable, seqLens, sinks], params, y) {
    const { heap, max, exports, reserve } = context;
    const { dtype } = cache!.spec;
    const [direct, copied, widen] = [exports(`attention.${dtype}`), exports("attention.f32"), exports("attention.widen")];
    const elementBytes = dtype === "f16" ? 2 : 4;
    const [, heads] = max(q!).shape as readonly [number, number, number];
    const [, , width] = max(cache!).shape as readonly [number, number, number];
    const mostPositions = max(blockTable!).shape[1]! * params.blockSize;
    const scoreBytes = 64 * Math.ceil((4 * mostPositions) / 64 + 1);
    const segmentBytes = 64 * Math.ceil((4 * segmentFields * (mostPositions + 1)) / 64);
    const mostRows = dtype === "f16" ? Math.min(mostPositions, Math.floor(mostCopied / (4 * width))) : 0;
    reserve(scoreBytes + 2 * segmentBytes + 4 * width * mostRows);
    const slopes = params.alibi > 0 ? slopeTable(context.table(4 * heads), heap, heads, params.alibi) : () => 0;
    const tables = { cache: cache!, positions: positions!, seqOf: seqOf!, blockTable: blockTable!, seqLens: seqLens! };

    return function* (run: Run) {
      const [tokens, , dK] = run.shape(q!) as readonly [number, number, number];
      const [, kvHeads] = run.shape(cache!) as readonly [number, number, number];
      const dV = width - dK;
      const group = heads / kvHeads;
      const [from, to, memory, slopesAt] = [run.address(q!), run.address(y), run.address(cache!), slopes()];
      const sinksAt = sinks === undefined ? 0 : run.address(sinks);
      const segmentsAt = run.scratch + scoreBytes;
      const [sharedAt, copyAt] = [segmentsAt + segmentBytes, segmentsAt + 2 * segmentBytes];
      const [headBytes, slotBytes] = [width * elementBytes, kvHeads * width * elementBytes];
      const visible = new Visible(heap, tables, params, run);

      /** Heads `first` to `last` of one query. */
      function* attend(t: number, segments: Segments, first: number, last: number, isCopied: boolean): Iterable<undefined> {
        const headsPerCall = Math.max(1, Math.floor(workPerCall / Math.max(1, segments.positions * width)));
        for (let head = first; head < last; head += headsPerCall) {
          (isCopied ? copied : direct)(
            from + 4 * t * heads * dK,
            isCopied ? copyAt : memory,
            to + 4 * t * heads * dV,
            run.scratch,
            segmentsAt,
            segments.count,
            segments.positions,
            head,
            Math.min(last, head + headsPerCall),
            group,
            dK,
            dV,
            isCopied ? 4 * width : slotBytes,
            isCopied ? 0 : headBytes,
            slopesAt,
            sinksAt,
            params.scale,
            params.softcap,
          );
          yield;
        }
      }

      for (let first = 0, next = 0; first < tokens; first = next) {
        do next++;
        while (next < tokens && visible.sequence(next) === visible.sequence(first));
        const ranges = Array.from({ length: next - first }, (_, i) => visible.range(first + i));
        let all = ranges[0]!;
        for (const { from, end } of ranges) all = { ...all, from: Math.min(all.from, from), end: Math.max(all.end, end) };
        // Halves that several queries read are widened once, into rows of f32 of one head after the other.
        const isShared = mostRows > 0 && (group > 1 || ranges.length > 1) && all.end - all.from <= mostRows;
        if (!isShared) {
          for (const [i, range] of ranges.entries()) yield* attend(first + i, visible.slots(range, segmentsAt), 0, heads, false);
          continue;
        }
        const shared = visible.slots(all, sharedAt);
        for (let kvHead = 0; kvHead < kvHeads; kvHead++) {
          widen(memory + kvHead * headBytes, slotBytes, sharedAt, shared.count, copyAt, width);
          for (const [i, range] of ranges.entries()) {
            const segments = visible.rows(range, all, shared, sharedAt, segmentsAt);
            yield* attend(first + i, segments, kvHead * group, (kvHead + 1) * group, true);
          }
        }
      }
    };
  },
};

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
