import { check, checkOptions, describe, elementAt, finite, type Kind, kind, list } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { programGraph } from "../kinds.ts";
import { resolveAxis } from "../ops/shared/checks.ts";
import { type OpRecorder, Value } from "./program.ts";

/** Options of {@link split}. */
export interface SplitParams {
  /** Axis to split; negative values count from the end. */
  readonly axis: number;
  /** Extents of the parts. Their sum must be the extent of the axis. */
  readonly sizes: readonly number[];
}

const handle: Kind = kind("a handle of the program", (value) => value instanceof Value);

/**
 * The parts of a tensor along an axis, as one `slice` each: a node has one output, and a part that nobody uses is never computed.
 * `x [..., n, ...] -> [..., sizes[i], ...]`. @throws {ShapeError | DTypeError | ArgumentError}
 */
export function split(program: OpRecorder, x: Value, params: SplitParams): readonly Value[] {
  check("split", "program", program, programGraph);
  check("split", "x", x, handle);
  const { axis, sizes } = checkOptions("split", params, { axis: finite, sizes: list });
  check("split", "sizes", sizes, list);
  const extent = elementAt(x.spec.shape, resolveAxis("split", axis, x.spec.shape.length));
  const isWhole = sizes.every((size) => Number.isSafeInteger(size) && size >= 0);
  if (!isWhole || sizes.reduce((total, size) => total + size, 0) !== extent) {
    const expected = `whole sizes that add up to ${typeof extent === "number" ? extent : "an extent that is a number"}`;
    throw new ArgumentError("split", expected, describe(sizes));
  }
  let start = 0;
  return sizes.map((size) => {
    const part = program.slice(x, { axis, start, end: start + size });
    start += size;
    return part;
  });
}
