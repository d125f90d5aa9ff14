import {
  createProgram,
  type DimValues,
  type DType,
  type OpName,
  type Program,
  type Shape,
  type TypedArray,
  type Value,
} from "@centella/core";
import { type AnyOp, completeParams, elementAt, lastOf, resolveSpec, type Unsupported } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { cases } from "../cases/index.ts";
import { contentsOf, random } from "../data.ts";
import type { Fill } from "../opCases.ts";
import type { Candidate, Known } from "./randomOps.ts";
import type { Run } from "./scenario.ts";

/** Content of an input in a run. */
export type InputContents = (dims: DimValues, run: number) => TypedArray;

/** A weight, with a bound on its elements. */
export interface Weight {
  readonly ref: Value;
  readonly bound: number;
}

/** Bounds on f32 values and on their errors. Calls that would exceed them are not kept. */
const limits = { bound: 64, error: 2e-3 };

/** A random program under construction: its values with their known properties, and the contents of its inputs and weights. */
export class Draft {
  readonly program: Program = createProgram();
  readonly weights: Record<string, TypedArray> = {};
  readonly #seed: number;
  readonly #next: () => number;
  readonly #unsupported: Unsupported;
  readonly #known: Known[] = [];
  readonly #contents = new Map<string, InputContents>();
  /** Ids of values that depend on state of earlier runs. They are not written back, because values and errors would grow from run to run. */
  readonly #lasting = new Set<number>();

  constructor(seed: number, unsupported: Unsupported) {
    this.#seed = seed;
    this.#next = random(seed);
    this.#unsupported = unsupported;
  }

  /** A whole number below `n`. */
  draw(n: number): number {
    return Math.floor(this.#next() * n);
  }

  oneOf<T>(choices: readonly T[]): T {
    return elementAt(choices, this.draw(choices.length));
  }

  /** A number in [0, 1). */
  next(): number {
    return this.#next();
  }

  /** Declares an input. Without contents, it is filled from the seed. */
  input(name: string, dtype: DType, shape: Shape, bound: number, contents?: InputContents): Value {
    const ref = this.program.input(name, dtype, shape);
    const place = this.#contents.size;
    const filled: InputContents = (dims, run) => {
      const spec = resolveSpec(ref.spec, dims);
      return contentsOf({ ...spec, ...(dtype === "bool" ? {} : { fill: { low: -bound, high: bound } }) }, this.#seed + 100 * run + place)
        .stored;
    };
    this.#contents.set(name, contents ?? filled);
    this.#known.push({ ref, bound, error: 0 });
    return ref;
  }

  /** An input that only its own call reads. */
  table(name: string, shape: Shape, contents: InputContents): Value {
    const ref = this.program.input(name, "i32", shape);
    this.#contents.set(name, contents);
    return ref;
  }

  /** Declares a new weight at each call. */
  weight(dtype: DType, shape: readonly number[], fill?: Fill): Weight {
    const name = `w${this.program.persistents.size}`;
    const { stored, decoded } = contentsOf({ dtype, shape, ...(fill && { fill }) }, this.#seed + 7 + this.program.persistents.size);
    this.weights[name] = stored;
    return {
      ref: this.program.persistent(name, { dtype, shape }),
      bound: Array.from(decoded).reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3),
    };
  }

  /** State that a run passes on to the next one. */
  state(dtype: DType, shape: readonly number[]): Value {
    const ref = this.program.persistent(`state${this.program.persistents.size}`, { dtype, shape }, { init: "zeros" });
    this.#lasting.add(ref.id);
    return ref;
  }

  /** Returns an accepted value, usually a recent one. */
  pick(accepts: (value: Known) => boolean): Known | undefined {
    const found = this.#known.filter(accepts);
    if (found.length === 0) return undefined;
    return found[Math.max(0, found.length - 1 - (this.draw(3) === 0 ? this.draw(found.length) : this.draw(4)))];
  }

  float(accepts: (value: Known) => boolean = () => true): Known | undefined {
    return this.pick((value) => value.ref.spec.dtype === "f32" && accepts(value));
  }

  /** Returns a value without error, for ops whose results jump at small differences. */
  exact(accepts: (value: Known) => boolean = () => true): Known | undefined {
    return this.float((value) => value.error === 0 && accepts(value));
  }

  /** Whether the value depends on state of earlier runs. */
  isLasting({ ref }: Known): boolean {
    return this.#lasting.has(ref.id);
  }

  /** Whether the backend has a kernel. Must be checked before an op that writes; other ops without a kernel are dropped when recorded. */
  has(op: AnyOp, inputs: readonly (Value | undefined)[], given: object = {}): boolean {
    const params = completeParams(op, given);
    const specs = inputs.map((ref) => ref?.spec);
    return this.#unsupported(op, specs, params, op.infer(specs, params)) === undefined;
  }

  /** Records a drawn call, and keeps it if its values stay within the limits and the backend has a kernel. */
  record({ bound, error, record }: Candidate): boolean {
    const first = this.program.nodes.length;
    if (bound === Number.POSITIVE_INFINITY) return false;
    const ref = record();
    const nodes = this.program.nodes.slice(first);
    for (const { inputs, output } of nodes) if (inputs.some((id) => id !== undefined && this.#lasting.has(id))) this.#lasting.add(output);
    const { values } = this.program;
    const isMissing = nodes.some(({ op, inputs, params, output }) => {
      const specs = inputs.map((id) => (id === undefined ? undefined : elementAt(values, id).spec));
      return op.alias !== true && this.#unsupported(op, specs, params, elementAt(values, output).spec) !== undefined;
    });
    const isFloat = ref.spec.dtype === "f32";
    if (isMissing || (isFloat && (bound > limits.bound || error > limits.error))) return false;
    this.#known.push({ ref, bound, error });
    return true;
  }

  /** Some outputs, the latest value among them, and how far each may be off. */
  outputs(count: number): Readonly<Record<string, number>> {
    const chosen = [lastOf(this.#known), ...Array.from({ length: count - 1 }, () => elementAt(this.#known, this.draw(this.#known.length)))];
    return Object.fromEntries(
      chosen.map(({ ref, error }, i) => {
        this.program.output(`y${i}`, ref);
        return [`y${i}`, 1e-6 + error] as const;
      }),
    );
  }

  run(dims: DimValues, run: number): Run {
    return { inputs: Object.fromEntries([...this.#contents].map(([name, contents]) => [name, contents(dims, run)])), dims };
  }
}

/** Error that an op's own cases allow for a result of this size. */
export function precisionOf(op: OpName, bound: number): number {
  const { rtol, atol } = named(cases[op].tolerance, "f32");
  return atol + rtol * bound;
}

/** Whether every extent after the leading ones is a number. */
export function isConcreteFrom(shape: Shape, axis: number): boolean {
  return shape.slice(axis).every((dim) => typeof dim === "number");
}
