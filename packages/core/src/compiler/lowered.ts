import type { AnyOp } from "../program/op.ts";
import type { Output, Persistent, ProgramGraph, ValueSource } from "../program/programGraph.ts";
import type { TensorSpec } from "../spec.ts";
import type { RefusedGroup } from "./passes/grouping.ts";

/** A piece of memory of a lowered program. Several values share it through `alias` and `writes` ops. */
export interface Storage {
  readonly id: number;
  readonly definition: ValueSource;
  /** Bytes in stored form, symbolic dims at their maximum. */
  readonly bytes: number;
  /** First and last index into `steps` at which the content matters; outputs live to the end (`steps.length`). */
  first: number;
  last: number;
}

/** An input or output of a step: its spec and its memory. */
export interface Operand {
  readonly spec: TensorSpec;
  readonly storage: Storage;
}

/** One kernel call. Steps run in order. */
export interface Step {
  readonly op: AnyOp;
  readonly inputs: readonly (Operand | undefined)[];
  readonly params: object;
  readonly output: Operand;
  /** Further results of a fused group, in the order of `FusedParams.extraOutputs`. */
  readonly extraOutputs?: readonly Operand[];
}

/** The form of a program that backends compile: steps over storages, without dead code and aliases, with lifetimes. */
export interface Lowered {
  readonly program: ProgramGraph;
  readonly steps: readonly Step[];
  /** Storages that are used, in order of first use. */
  readonly storages: readonly Storage[];
  readonly outputs: readonly (Output & { readonly operand: Operand })[];
  /** Used persistents with their storages, or with that of some of their rows. */
  readonly persistents: readonly (Persistent & { readonly storage: Storage })[];
  /** Groups that could be one kernel and are not, with the backend's reasons. */
  readonly refused: readonly RefusedGroup[];
}
