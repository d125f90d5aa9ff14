import { opKey, structuralKey } from "../program/structuralKey.ts";
import type { Step } from "./lowered.ts";
import { type FusedParams, isFused } from "./passes/fused.ts";

/** The same text for steps that make the same call: they have the same op, parameters and specs, and differ in memory alone. */
export function callKey({ op, params, inputs, output }: Step): string {
  const ops = isFused(op) ? (params as FusedParams).body.map((call) => opKey(call.op)) : [];
  const specs = [...inputs.map((operand) => operand?.spec), output.spec];
  return `${opKey(op)} ${structuralKey(op.name, [params, ops, specs])}`;
}
