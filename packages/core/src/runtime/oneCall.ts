import { describe } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { type AnyOp, inputName, isRequiredInput } from "../program/op.ts";
import { completeParams, createRecorder, requireInputs } from "../program/program.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import { opKey, structuralKey } from "../program/structuralKey.ts";
import { byteLength } from "../spec.ts";
import { Tensor } from "../tensor.ts";

/** Checks a call's arguments. `key` is equal for calls that one plan can serve. */
export function checkCall(
  op: AnyOp,
  inputs: readonly (Tensor | undefined)[],
  given: object,
): { readonly params: object; readonly key: string; readonly devices: string } {
  const params = completeParams(op, given);
  requireInputs(op, inputs);
  let key = opKey(op);
  let devices = "";
  for (let i = 0; i < inputs.length; i++) {
    const tensor = inputs[i];
    if (tensor instanceof Tensor) {
      key += ` ${tensor.spec.dtype} ${tensor.spec.shape.join()}`;
      devices += ` ${tensor.device}`;
    } else if (tensor === undefined && !isRequiredInput(op, i)) key += " -";
    else throw new ArgumentError(op.name, `${inputName(op, i)} to be a tensor`, describe(tensor), "make one with runtime.tensor()");
  }
  return { params, key: params === op.defaults ? key : `${key} ${structuralKey(op.name, params)}`, devices };
}

/** The program of one call: inputs "0", "1", …, output "y". */
export function oneCall(op: AnyOp, inputs: readonly (Tensor | undefined)[], params: object, to: "host" | "device"): ProgramGraph {
  const program = createRecorder();
  const values = inputs.map((tensor, i) => tensor && program.input(String(i), tensor.spec.dtype, tensor.spec.shape));
  program.output("y", program.record(op, values, params), { to });
  return program;
}

/** The inputs of {@link oneCall}'s program. */
export function numbered<T>(inputs: readonly (Tensor | undefined)[], from: (tensor: Tensor) => T): Record<string, T> {
  const given: Record<string, T> = {};
  for (const [i, input] of inputs.entries()) if (input !== undefined) given[i] = from(input);
  return given;
}

/** Bytes of inputs that are stored on other devices. */
export function movedTo(backend: string, inputs: readonly (Tensor | undefined)[]): number {
  return inputs.reduce((sum, tensor) => sum + (tensor === undefined || tensor.device === backend ? 0 : byteLength(tensor.spec)), 0);
}
