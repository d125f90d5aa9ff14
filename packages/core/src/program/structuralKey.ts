import { describe } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import type { AnyOp } from "./op.ts";

/** Ops by identity: those of users may share a name. */
const numbers = new WeakMap<AnyOp, string>();
let given = 0;

/** An op as a part of cache keys. */
export function opKey(op: AnyOp): string {
  const number = numbers.get(op) ?? `${op.name} ${given++}`;
  numbers.set(op, number);
  return number;
}

/** Canonical text of parameters and specs, for cache keys. @throws {ArgumentError} unless they are plain data */
export function structuralKey(op: string, value: unknown): string {
  try {
    return JSON.stringify(value, keepNumbers);
  } catch {
    throw new ArgumentError(op, "options of plain data", describe(value), "pass numbers, strings, booleans and lists of them");
  }
}

/** JSON has no infinities, NaN or -0; as text they stay apart. */
function keepNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))
    ? `number ${Object.is(value, -0) ? "-0" : value}`
    : value;
}
