import { type Lowered, type Persistent, usesOf } from "@centella/core/backend";
import { type UnitMatrix, unitMatrix } from "./unitFormat.ts";

/** Inputs of ops that are read element by element or as whole units, by the op's name. */
const readable: Readonly<Record<string, number>> = { matmul: 1, moeMatmul: 1, embedding: 0 };

/** The form in units of a weight, if every use in all programs can read it and at least one does. */
export function chooseUnits(persistent: Persistent, programs: readonly Lowered[]): UnitMatrix | undefined {
  const { name, init, spec } = persistent;
  if (init === "zeros" || !programs.every((lowered) => canReadUnits(persistent, lowered))) return undefined;
  const isUsed = programs.some(({ persistents }) => persistents.some((used) => used.name === name));
  return isUsed ? unitMatrix(spec.dtype, spec.shape as readonly number[]) : undefined;
}

/** Whether every use of a persistent in a program can read units. */
export function canReadUnits({ name, spec }: Persistent, lowered: Lowered): boolean {
  const storage = lowered.persistents.find((used) => used.name === name)?.storage;
  if (lowered.outputs.some(({ operand }) => operand.storage === storage)) return false;
  if (storage === undefined) return true;
  return usesOf(lowered, storage).every(
    ({ op, input, params, spec: used }) =>
      readable[op.name] === input && used.shape.join() === spec.shape.join() && (!("transposeB" in params) || params.transposeB === true),
  );
}
