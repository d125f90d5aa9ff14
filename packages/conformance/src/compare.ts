import type { ConcreteSpec, TypedArray } from "@centella/core";
import { elementAt, formatSpec, isInteger } from "@centella/core/backend";
import { exact, type Tolerance } from "./opCases.ts";

/** A result, its expected value, and the data to reproduce a difference. */
export interface Comparison {
  readonly what: string;
  readonly spec: ConcreteSpec;
  /** Decoded values. */
  readonly got: ArrayLike<number>;
  readonly want: ArrayLike<number>;
  readonly tolerance: Tolerance;
  /** Results for the magnitudes of the inputs, if the tolerance has `sums`. */
  readonly magnitudes?: ArrayLike<number>;
  readonly seed?: number;
}

/** Describes the worst wrong element with its index, both values and the limit. Returns undefined if all elements are within limits. */
export function compareToReference({ what, spec, got, want, tolerance, magnitudes, seed }: Comparison): string | undefined {
  if (got.length !== want.length) return `${what}: got ${got.length} elements, want ${want.length} for ${formatSpec(spec)}`;
  const { rtol, atol, sums = 0 } = isInteger(spec.dtype) ? exact : tolerance;
  const sumLimit = (i: number): number => (sums === 0 || magnitudes === undefined ? 0 : sums * elementAt(magnitudes, i));
  const limitAt = (i: number): number => atol + rtol * Math.abs(elementAt(want, i)) + sumLimit(i);
  let worst = -1;
  let excess = 0;
  let wrong = 0;
  for (let i = 0; i < want.length; i++) {
    const [g, w] = [elementAt(got, i), elementAt(want, i)];
    if (Object.is(g, w) || g === w) continue;
    const error = Math.abs(g - w);
    const limit = Number.isFinite(w) ? limitAt(i) : 0;
    if (error <= limit) continue;
    wrong++;
    const by = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error / Math.max(limit, Number.MIN_VALUE);
    if (worst < 0 || by > excess) [worst, excess] = [i, by];
  }
  if (worst < 0) return undefined;
  const [g, w] = [elementAt(got, worst), elementAt(want, worst)];
  const limit = limitAt(worst);
  const from = seed === undefined ? "" : `, seed ${seed}`;
  return `${what}: ${wrong} of ${want.length} elements differ; worst at [${coordinates(worst, spec.shape)}]: got ${g}, want ${w}, error ${Math.abs(g - w)}, limit ${limit}${from}`;
}

/** @throws {Error} with {@link compareToReference}'s message */
export function expectClose(comparison: Comparison): void {
  const message = compareToReference(comparison);
  if (message !== undefined) throw new Error(message);
}

/** @throws {Error} unless both arrays hold the same numbers; NaN equals NaN. */
export function expectEqual(what: string, got: TypedArray | readonly number[], want: TypedArray | readonly number[]): void {
  const spec: ConcreteSpec = { dtype: "f32", shape: [want.length] };
  expectClose({ what, spec, got, want, tolerance: exact });
}

/** @throws {Error} with `message` unless `condition`. */
export function expectThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Awaits a rejection or an exception of the class. @throws {Error} without one, or for another class or message */
export async function expectRejection(
  what: string,
  work: () => unknown,
  error: abstract new (...args: never[]) => Error,
  message: RegExp = /./,
): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof error && message.test(thrown.message)) return;
    throw new Error(`${what}: expected ${error.name} matching ${message}, got ${String(thrown)}`, { cause: thrown });
  }
  throw new Error(`${what}: expected ${error.name}, got no error`);
}

function coordinates(flat: number, shape: readonly number[]): string {
  const at = shape.map(() => 0);
  for (let axis = shape.length - 1, rest = flat; axis >= 0; axis--) {
    at[axis] = rest % elementAt(shape, axis);
    rest = Math.floor(rest / elementAt(shape, axis));
  }
  return at.join(", ");
}
