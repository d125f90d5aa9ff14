import { elementAt } from "@centella/quant/checks";
import type { TypedArray } from "../dtype.ts";
import type { ConcreteSpec, SymbolicDim, TensorSpec } from "../spec.ts";
import type { AnyOp } from "./op.ts";

/** Where a value of a program comes from. */
export type ValueSource =
  | { readonly kind: "input"; readonly name: string }
  /** All of a persistent, or its rows from element `from` on: as many as the value has. */
  | { readonly kind: "persistent"; readonly name: string; readonly from?: number }
  | { readonly kind: "constant"; readonly data: TypedArray }
  | { readonly kind: "node" };

/** One value of a program: a spec and its definition. `id` is its index in {@link ProgramGraph.values}. */
export interface ValueInfo {
  readonly id: number;
  readonly spec: TensorSpec;
  readonly definition: ValueSource;
  /** The persistent that this value is a version of: the declared one, or what an op with `writes` returned. */
  readonly persistent: string | undefined;
}

/** One recorded op call. Values are named by id; an absent optional input is undefined. */
export interface Node {
  readonly op: AnyOp;
  readonly inputs: readonly (number | undefined)[];
  readonly params: object;
  readonly output: number;
  /** Of a fused group with several results: the values of `FusedParams.extraOutputs`. */
  readonly extraOutputs?: readonly number[];
}

/** A tensor that outlives runs: weights ("load") must be loaded before the first run, state ("zeros") starts as zeros. */
export interface Persistent {
  readonly name: string;
  readonly spec: ConcreteSpec;
  readonly init: "load" | "zeros";
  /** The declared value. */
  readonly value: number;
}

/** A result of a run: "host" outputs are read back as part of the run, "device" ones stay where they are. */
export interface Output {
  readonly name: string;
  readonly value: number;
  readonly to: "host" | "device";
}

/** What was recorded: plain data, the contract between the recorder, the passes and the backends. */
export interface ProgramGraph {
  readonly dims: ReadonlyMap<string, SymbolicDim>;
  readonly values: readonly ValueInfo[];
  /** In recorded order, which is a valid order of execution. */
  readonly nodes: readonly Node[];
  readonly inputs: ReadonlyMap<string, number>;
  readonly persistents: ReadonlyMap<string, Persistent>;
  readonly outputs: readonly Output[];
}

/** The value with an id of the program. */
export function valueAt({ values }: Pick<ProgramGraph, "values">, id: number): ValueInfo {
  return elementAt(values, id);
}

/** The spec of the value with an id of the program. */
export function specOf(program: Pick<ProgramGraph, "values">, id: number): TensorSpec {
  return valueAt(program, id).spec;
}
