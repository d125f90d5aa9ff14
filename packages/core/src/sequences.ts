import { ArgumentError } from "./errors.ts";
import { resolveAxis } from "./ops/shared/checks.ts";
import type { OpRecorder, Ref } from "./program.ts";

/** What {@link split} takes besides the tensor. */
export interface SplitParams {
  /** Negative ones count from the end. */
  readonly axis: number;
  /** Extents of the parts; their sum is the axis's extent. */
  readonly sizes: readonly number[];
}

/**
 * The parts of a tensor along an axis, as one `slice` each: a node has one output, and a part that nobody uses is never computed.
 * `x [..., n, ...] -> [..., sizes[i], ...]`. @throws {ShapeError | DTypeError | ArgumentError}
 */
export function split(program: OpRecorder, x: Ref, { axis, sizes }: SplitParams): readonly Ref[] {
  const extent = x.spec.shape[resolveAxis("split", axis, x.spec.shape.length)]!;
  const sum = sizes.reduce((total, size) => total + size, 0);
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0) || sum !== extent) {
    const expected = `whole sizes that add up to ${typeof extent === "number" ? extent : "an extent that is a number"}`;
    throw new ArgumentError("split", expected, `[${sizes.join(", ")}]`);
  }
  let start = 0;
  return sizes.map((size) => {
    const part = program.slice(x, { axis, start, end: start + size });
    start += size;
    return part;
  });
}
