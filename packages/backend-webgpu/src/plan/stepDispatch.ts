import { elementAt, type Operand, type Step } from "@centella/core/backend";
import type { Dispatch, Resource } from "../kernels/shared/kernel.ts";

/** A dispatch of a step, whose number is `index`. */
export interface StepDispatch {
  readonly index: number;
  readonly step: Step;
  readonly dispatch: Dispatch;
}

/** A binding's memory that belongs to the dispatches, not to a value of the program. */
export type OwnResource = Extract<Resource, { readonly kind: "scratch" | "table" }>;

/** Returns the value of the program that a binding of a step's dispatch refers to. */
export function operandOf(resource: Exclude<Resource, OwnResource>, { inputs, output, extraOutputs = [] }: Step): Operand {
  switch (resource.kind) {
    case "input":
      return elementAt(inputs, resource.index)!;
    case "output":
      return output;
    case "extraOutput":
      return elementAt(extraOutputs, resource.index);
  }
}
