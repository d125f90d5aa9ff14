import { formatProgram } from "../../src/compiler/explain.ts";
import { fuseElementwise } from "../../src/compiler/passes/fuseElementwise.ts";
import type { Fusion, FusionLimits, RefusesGroup } from "../../src/compiler/passes/grouping.ts";
import type { Program, Value } from "../../src/index.ts";
import type { ProgramGraph } from "../../src/program/programGraph.ts";

export const accept: RefusesGroup = () => undefined;
export const fuse = (program: ProgramGraph, refuses = accept, limits?: FusionLimits): Fusion => fuseElementwise(program, refuses, limits);
export const opsOf = ({ nodes }: ProgramGraph): string[] => nodes.map(({ op }) => op.name);
export const bodies = ({ nodes }: ProgramGraph): string[] =>
  nodes.map(({ op, params }) =>
    "body" in params ? (params.body as { op: { name: string } }[]).map((call) => call.op.name).join("+") : op.name,
  );
export const scalar = (program: Program, value: number): Value => program.constant(Float32Array.of(value), "f32", []);
export const state = (program: Program): Value => program.persistent("state", { dtype: "f32", shape: [4] }, { init: "zeros" });

export function beforeAndAfter(program: ProgramGraph, pass: (program: ProgramGraph) => ProgramGraph): string {
  return `before\n${formatProgram(program)}\nafter\n${formatProgram(pass(program))}`;
}
