import type { Emitter, F32, U32 } from "../emitter.ts";
import type { GpuScope } from "../kernel.ts";
import type { ColumnLane, ColumnSummaries } from "./columns.ts";
import { forChunksBetween } from "./rows.ts";
import type { Share } from "./shares.ts";
import { type Summary, summarize } from "./summary.ts";

/** Number of elements, their mean, and the sum of squared differences from it. */
type Moments = readonly [count: F32, mean: F32, squares: F32];

/** Combines means and squared differences of two sets of elements (Chan, Golub and LeVeque, 1979), without cancellation. */
export const moments: Summary<readonly ["f32", "f32", "f32"]> = {
  types: ["f32", "f32", "f32"],
  empty: [0, 0, 0],
  combine(k, [aCount, aMean, aSquares], [bCount, bMean, bSquares]) {
    const count = k.add(aCount, bCount);
    const part = k.div(bCount, k.max(count, 1));
    const distance = k.sub(bMean, aMean);
    const between = k.mul(k.mul(k.mul(distance, distance), aCount), part);
    return [count, k.fma(distance, part, aMean), k.add(k.add(aSquares, bSquares), between)];
  },
};

/** The {@link moments} of a share, over all lanes of its group. A lane reads several elements before it combines them. */
export function momentsOf(scope: GpuScope, { row, start, end }: Share, read: (at: U32) => F32): Moments {
  const { k } = scope;
  return summarize(k, moments, (take) => forChunksBetween(scope, row, start, end, read, (values) => take(chunkMoments(k, values))));
}

/** The {@link moments} of a lane's columns in the rows of its group. */
export function momentsOfColumns({ k }: GpuScope, lane: ColumnLane, read: (at: U32) => F32): ColumnSummaries<typeof moments.types> {
  return lane.summarize(moments, (take) => lane.forChunks(read, (values, column) => take(column, chunkMoments(k, values))));
}

/** The moments of a few values, in two passes. */
function chunkMoments(k: Emitter, values: readonly F32[]): Moments {
  const zero = k.constant("f32", 0);
  if (values.length === 1) return [k.constant("f32", 1), values[0] ?? zero, zero];
  const mean = k.mul(
    values.reduce((sum, value) => k.add(sum, value)),
    1 / values.length,
  );
  const squares = values.reduce((sum, value) => {
    const distance = k.sub(value, mean);
    return k.fma(distance, distance, sum);
  }, zero);
  return [k.constant("f32", values.length), mean, squares];
}
