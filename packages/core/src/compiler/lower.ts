import { UnsupportedError } from "../errors.ts";
import type { AnyOp } from "../program/op.ts";
import { type ProgramGraph, specOf, valueAt } from "../program/programGraph.ts";
import { byteLength, maxSpec, type TensorSpec } from "../spec.ts";
import type { Lowered, Operand, Step, Storage } from "./lowered.ts";
import { deadCode } from "./passes/deadCode.ts";
import { fuse } from "./passes/fuse.ts";
import { type FusedParams, fused, isFused, writtenInput } from "./passes/fused.ts";
import type { FusionLimits } from "./passes/grouping.ts";
import { inPlace } from "./passes/inPlace.ts";
import { simplify } from "./passes/simplify.ts";

export interface LowerOptions {
  /** Limits of one fused group. */
  readonly fusion?: FusionLimits;
  /** In one address space (the default), elementwise calls write in place where they can. With buffers, no step reads and writes the same memory. */
  readonly memoryModel?: "addressSpace" | "buffers";
  /** False only removes dead code: a baseline that optimised programs are compared with. */
  readonly optimize?: boolean;
}

/** The reason why a backend has no kernel for a call; see `Backend.unsupported`. */
export type Unsupported = (
  op: AnyOp,
  inputs: readonly (TensorSpec | undefined)[],
  params: object,
  output: TensorSpec,
) => string | undefined;

/**
 * Turns a recorded program into steps over storages: simplifies it, fuses what the backend has kernels for, resolves memory.
 * Every single call must have a kernel, so that the backend may refuse any group. Pure.
 * @throws {UnsupportedError} for the first node that `unsupported` gives a reason for.
 */
export function lower(
  recorded: ProgramGraph,
  backendName: string,
  unsupported: Unsupported,
  { fusion, memoryModel = "addressSpace", optimize = true }: LowerOptions = {},
): Lowered {
  const simple = optimize ? simplify(recorded) : deadCode(recorded);
  const missing = firstUnsupported(simple, unsupported);
  if (missing !== undefined) throw new UnsupportedError(`${backendName}: ${missing.op}`, missing.reason);
  const refuses = (inputs: readonly TensorSpec[], params: FusedParams, output: TensorSpec) => unsupported(fused, inputs, params, output);
  const { program, refused } = optimize ? fuse(simple, refuses, fusion) : { program: simple, refused: [] };
  const storages = new Map<number, Storage>();
  const steps: Step[] = [];

  /** For values in the memory of another value: that value. A persistent may have many versions. */
  const owners = new Map<number, number>();
  for (const node of program.nodes) {
    const { op, inputs, output } = node;
    const shared = writtenInput(node) ?? (op.alias === true ? 0 : undefined);
    const owner = shared === undefined ? undefined : inputs[shared];
    if (owner !== undefined) owners.set(output, owners.get(owner) ?? owner);
  }
  const storageOf = (value: number): Storage => {
    const id = owners.get(value) ?? value;
    const known = storages.get(id);
    if (known !== undefined) return known;
    const { definition, spec } = valueAt(program, id);
    const first = definition.kind === "node" ? steps.length : -1;
    const storage = { id, definition, bytes: byteLength(maxSpec(spec)), first, last: first };
    storages.set(id, storage);
    return storage;
  };
  const operand = (id: number): Operand => ({ spec: specOf(program, id), storage: storageOf(id) });

  for (const node of program.nodes) {
    if (node.op.alias === true) continue;
    const inputs = node.inputs.map((id) => (id === undefined ? undefined : operand(id)));
    const output = operand(node.output);
    const extraOutputs = node.extraOutputs?.map(operand);
    for (const used of [...inputs, output, ...(extraOutputs ?? [])]) if (used !== undefined) used.storage.last = steps.length;
    steps.push({ op: node.op, inputs, params: node.params, output, ...(extraOutputs && { extraOutputs }) });
  }

  const outputs = program.outputs.map((output) => ({ ...output, operand: operand(output.value) }));
  for (const output of outputs) output.operand.storage.last = steps.length;
  const ofPersistents = new Map<string, Storage>();
  for (const storage of storages.values())
    if (storage.definition.kind === "persistent") ofPersistents.set(storage.definition.name, storage);
  const persistents = [...program.persistents.values()].flatMap((persistent) => {
    const storage = ofPersistents.get(persistent.name);
    return storage === undefined ? [] : [{ ...persistent, storage }];
  });
  const lowered = { program, steps, storages: [...storages.values()], outputs, persistents, refused };
  return optimize && memoryModel === "addressSpace" ? inPlace(lowered) : lowered;
}

/** The first call of a program that a backend has no kernel for, and the reason. Alias ops need no kernel. */
export function firstUnsupported(
  program: ProgramGraph,
  unsupported: Unsupported,
): { readonly op: string; readonly reason: string } | undefined {
  for (const { op, inputs, params, output } of program.nodes) {
    if (op.alias === true) continue;
    const specs = inputs.map((id) => (id === undefined ? undefined : specOf(program, id)));
    const reason = unsupported(op, specs, params, specOf(program, output));
    if (reason !== undefined) return { op: op.name, reason };
  }
  return undefined;
}

/** An op that reads or writes a persistent. */
type Use = ReturnType<typeof usesOf>[number];

/** Uses by storage, of programs that were asked for: backends ask for those of each persistent. */
const known = new WeakMap<Lowered, ReadonlyMap<Storage, readonly Use[]>>();

/** The ops that read or write a persistent, and as which input. Backends choose its layout by them. Calls inside fused groups count. */
export function usesOf(
  lowered: Lowered,
  storage: Storage,
): readonly { readonly op: AnyOp; readonly input: number; readonly params: object; readonly spec: TensorSpec }[] {
  let uses = known.get(lowered);
  if (uses === undefined) {
    uses = findUses(lowered);
    known.set(lowered, uses);
  }
  return uses.get(storage) ?? [];
}

function findUses({ steps }: Lowered): ReadonlyMap<Storage, readonly Use[]> {
  const found = new Map<Storage, Use[]>();
  const add = (operand: Operand | undefined, input: number, { op, params }: Pick<Step, "op" | "params">): void => {
    if (operand === undefined) return;
    const { storage, spec } = operand;
    const uses = found.get(storage);
    const use = { op, input, params, spec };
    if (uses === undefined) found.set(storage, [use]);
    else uses.push(use);
  };
  for (const step of steps) {
    if (!isFused(step.op)) for (const [i, operand] of step.inputs.entries()) add(operand, i, step);
    else
      for (const call of (step.params as FusedParams).body)
        for (const [i, place] of call.inputs.entries()) if (place !== undefined) add(step.inputs[place], i, call);
  }
  return found;
}
