import { check, elementAt, entryOf, isRecord, type Kind, kind } from "@centella/quant/checks";
import type { Backend } from "../backend/backend.ts";
import { ArgumentError } from "../errors.ts";
import { programGraph } from "../kinds.ts";
import { type Node, type ProgramGraph, specOf } from "../program/programGraph.ts";
import { structuralKey } from "../program/structuralKey.ts";
import { type Placement, splitByPlacement } from "../runtime/placement.ts";
import { type ConcreteSpec, formatShape, formatSpec, maxSpec } from "../spec.ts";
import { planArena, planSlots } from "./arena.ts";
import { lower } from "./lower.ts";
import type { Lowered, Step, Storage } from "./lowered.ts";
import { type FusedParams, isFused, writtenInput } from "./passes/fused.ts";
import { splitRows } from "./passes/splitRows.ts";
import { resultsOfNode, valueNames } from "./valueNames.ts";

/** The properties of a backend that decide how it computes a program. */
export type ExplainedBackend = Pick<Backend, "name" | "unsupported" | "fusion" | "memoryModel" | "rowsAtOnce">;

/** A program on several backends: `backends[0]` holds the persistents that `placement` does not name. */
export interface Placed {
  readonly placement: Placement;
  readonly backends: readonly ExplainedBackend[];
}

/** Has every kernel: shows what a program becomes before a backend refuses anything. */
const anyBackend: ExplainedBackend = { name: "any backend", unsupported: () => undefined };

const explainedKind: Kind = kind(
  "a backend, or a placement with its backends",
  (value) => isRecord(value) && (typeof value.unsupported === "function" || (isRecord(value.placement) && Array.isArray(value.backends))),
);

/** Alignment of the offsets in the listing. Backends use the alignment of their device. */
const alignment = 64;

/**
 * Describes, as text, what a program becomes on a backend: each step with its shapes, flops and bytes (symbolic dims at their
 * maxima), fused groups with their bodies, the places of temporaries, and the groups that the backend refused. Without a
 * backend it describes the program for a backend with every kernel. Nothing is compiled.
 * For a placed program it describes each part, and the values that move between parts.
 * @throws {UnsupportedError} for a call that the backend has no kernel for
 */
export function explain(recorded: ProgramGraph, on: ExplainedBackend | Placed = anyBackend): string {
  check("explain", "program", recorded, programGraph, "record one with createProgram()");
  check("explain", "backend", on, explainedKind, "pass a backend, or { placement, backends }");
  if ("placement" in on) return explainPlaced(recorded, on);
  const { name, fusion, memoryModel = "addressSpace", rowsAtOnce } = on;
  const options = { memoryModel, ...(fusion && { fusion }) };
  const split = rowsAtOnce === undefined ? recorded : splitRows(recorded, rowsAtOnce);
  const lowered = lower(split, name, (...call) => on.unsupported(...call), options);
  const { program, steps, refused } = lowered;
  const memory = placesOf(lowered, memoryModel);
  const placeOf = ({ op, inputs, params, output: { storage }, extraOutputs = [] }: Step): string => {
    const isInPlace = writtenInput({ op, params }) === undefined && inputs.some((operand) => operand?.storage === storage);
    const places = [...extraOutputs.map((operand) => operand.storage), storage].map((result) => memory.placeOf(result));
    return `${places.join(", ")}${isInPlace ? ", in place" : ""}`;
  };
  const stepOf = new Map(program.nodes.filter(({ op }) => op.alias !== true).map(({ output }, i) => [output, elementAt(steps, i)]));
  let [flops, bytes] = [0, 0];
  const lines = linesOf(program, (node) => {
    if (node.op.alias === true) return "view";
    const cost = costOf(program, node);
    flops += cost.flops;
    bytes += cost.bytes;
    return `${count(cost.flops)} flops, ${count(cost.bytes)} bytes, ${placeOf(entryOf(stepOf, node.output))}`;
  });
  return [
    `${steps.length} steps on ${name}, from ${recorded.nodes.length} recorded ops`,
    ...lines,
    `in all: ${count(flops)} flops, ${count(bytes)} bytes, ${memory.summary}`,
    ...refused.map(({ ops, reason }) => `not fused: ${ops.join(" + ")}: ${reason}`),
    "",
  ].join("\n");
}

/** Describes the parts of a placed program, and the values that move between them. */
function explainPlaced(recorded: ProgramGraph, { placement, backends }: Placed): string {
  const parts = splitByPlacement(recorded, placement, elementAt(backends, 0).name);
  let moved = 0;
  const listings = parts.map(({ device, program, cuts }, i) => {
    const backend = backends.find(({ name }) => name === device);
    if (backend === undefined) throw new ArgumentError("placement", `devices among ${backends.map(({ name }) => name).join(", ")}`, device);
    const cutLines = cuts.map(({ value, from, bytes }) => {
      const { device: source } = elementAt(parts, from);
      const isMoved = source !== device;
      if (isMoved) moved += bytes;
      const how = isMoved ? `from ${source} to ${device}, ${count(bytes)} bytes` : `stays on ${device}`;
      return `%${value}: ${formatSpec(specOf(program, value))} of part ${from + 1} ${how}\n`;
    });
    return `part ${i + 1} on ${device}\n${cutLines.join("")}${explain(program, backend)}`;
  });
  const head = `${parts.length} parts, ${parts.length - 1} cuts, ${count(moved)} bytes moved between backends at most`;
  return [head, ...listings].join("\n");
}

/** Lists a program without changing it, e.g. between two passes. */
export function formatProgram(program: ProgramGraph): string {
  check("formatProgram", "program", program, programGraph, "record one with createProgram()");
  return [...linesOf(program, () => undefined), ""].join("\n");
}

function linesOf(program: ProgramGraph, annotate: (node: Node) => string | undefined): readonly string[] {
  const { inputs, persistents, nodes, outputs } = program;
  const nameOf = valueNames(program);
  return [
    ...[...inputs].map(([name, id]) => `input ${name}: ${formatSpec(specOf(program, id))}`),
    ...[...persistents.values()].map(({ name, spec, init }) => `persistent ${name}: ${formatSpec(spec)}, ${init}`),
    ...nodes.flatMap((node) => {
      const results = resultsOfNode(node).map((id) => `${nameOf(id)}: ${formatSpec(specOf(program, id))}`);
      const note = annotate(node);
      const head = `${results.join(", ")} = ${formatCall(node, nameOf)}`;
      return [note === undefined ? head : `${head}  (${note})`, ...bodyLines(node, nameOf)];
    }),
    ...outputs.map(({ name, value, to }) => `output ${name}: ${nameOf(value)} to the ${to}`),
  ];
}

function formatCall({ op, inputs, params }: Pick<Node, "op" | "inputs" | "params">, nameOf: (id: number) => string): string {
  const given = inputs.slice(0, inputs.findLastIndex((id) => id !== undefined) + 1);
  const tensors = given.map((id) => (id === undefined ? "none" : nameOf(id)));
  const options = isFused(op) ? [] : Object.entries(params).map(([key, value]) => `${key}: ${formatOption(key, value)}`);
  return `${op.name}(${[...tensors, ...options].join(", ")})`;
}

function formatOption(key: string, value: unknown): string {
  return key === "shape" && Array.isArray(value) ? formatShape(value) : structuralKey("explain", value);
}

/** A fused group's calls, their results named `.0`, `.1`, … */
function bodyLines({ op, inputs, params }: Node, nameOf: (id: number) => string): readonly string[] {
  if (!isFused(op)) return [];
  const { body } = params as FusedParams;
  const nameAt = (place: number): string => {
    const id = inputs[place];
    return id === undefined ? `.${place - inputs.length}` : nameOf(id);
  };
  return body.map((call, i) => `  .${i} = ${formatCall(call, nameAt)}`);
}

function costOf(program: ProgramGraph, { op, inputs, params, output }: Node): { readonly flops: number; readonly bytes: number } {
  const specs = inputs.map((id): ConcreteSpec | undefined => (id === undefined ? undefined : maxSpec(specOf(program, id))));
  return op.cost(specs, params, maxSpec(specOf(program, output)));
}

/** Where results are stored. */
interface Places {
  readonly summary: string;
  placeOf(storage: Storage): string;
}

function placesOf({ storages }: Lowered, model: NonNullable<Backend["memoryModel"]>): Places {
  const temporaries = storages.filter(({ definition }) => definition.kind === "node");
  const apart = temporaries.reduce((sum, { bytes }) => sum + bytes, 0);
  const persistent = ({ definition }: Storage): string | undefined =>
    definition.kind === "persistent" ? `in ${definition.name}` : undefined;
  if (model === "buffers") {
    const { slots, slotOf } = planSlots(temporaries);
    const bytes = slots.reduce((sum, slot) => sum + slot, 0);
    return {
      summary: `${slots.length} buffers of ${count(bytes)} bytes for ${count(apart)} bytes of temporaries`,
      placeOf: (storage) => persistent(storage) ?? `in buffer ${slotOf.get(storage.id)}`,
    };
  }
  const { bytes, offsets } = planArena(temporaries, alignment);
  return {
    summary: `an arena of ${count(bytes)} bytes for ${count(apart)} bytes of temporaries`,
    placeOf: (storage) => persistent(storage) ?? `at ${count(entryOf(offsets, storage.id))}`,
  };
}

function count(n: number): string {
  return n.toLocaleString("en");
}
