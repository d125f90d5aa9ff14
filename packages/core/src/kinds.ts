import {
  abortSignal,
  boolean,
  callback,
  check,
  checkOptions,
  isRecord,
  type Kind,
  type Kinds,
  kind,
  list,
  object,
} from "@centella/quant/checks";
import type { CompileOptions, LoadOptions, ProfileOptions, RunOptions } from "./backend/backend.ts";
import type { ProgramGraph } from "./program/programGraph.ts";

/** A program that was recorded with `createProgram`. */
export const programGraph: Kind = kind(
  "a program",
  (value) => isRecord(value) && Array.isArray(value.nodes) && Array.isArray(value.values) && value.persistents instanceof Map,
);

/** An open backend. */
export const openBackend: Kind = kind(
  "an open backend",
  (value) => isRecord(value) && typeof value.compile === "function" && isRecord(value.device),
);

/** A backend definition: the result of `reference()`, not `reference` itself. */
export const backendFactory: Kind = kind(
  "a backend factory",
  (value) => isRecord(value) && typeof value.open === "function" && typeof value.name === "string",
);

/** The definition of an op. */
export const opDefinition: Kind = kind(
  "the definition of an op",
  (value) => isRecord(value) && typeof value.infer === "function" && Array.isArray(value.inputs) && isRecord(value.defaults),
);

/** A source of a tensor's bytes. */
export const tensorSource: Kind = kind(
  "a source { size, read }",
  (value) =>
    isRecord(value) &&
    Number.isSafeInteger(value.size) &&
    typeof value.read === "function" &&
    (value.readInto === undefined || typeof value.readInto === "function"),
);

const plan: Kind = kind(
  "a compiled plan",
  (value) => isRecord(value) && typeof value.run === "function" && programGraph.accepts(value.program),
);

const runKinds: Kinds<RunOptions> = { dims: object, signal: abortSignal };
const profileKinds: Kinds<ProfileOptions> = { ...runKinds, perStep: boolean };
const loadKinds: Kinds<LoadOptions> = { signal: abortSignal, onProgress: callback };
const compileKinds: Kinds<CompileOptions> = { shareWith: plan, sharedBy: list, background: boolean, signal: abortSignal };

/** The options of `Plan.run` and `runSync`. @throws {ArgumentError} */
export function runOptions(options: RunOptions): RunOptions {
  return checkOptions("run", options, runKinds);
}

/** The options of `Plan.profile`. @throws {ArgumentError} */
export function profileOptions(options: ProfileOptions): ProfileOptions {
  return checkOptions("profile", options, profileKinds);
}

/** The options of `Plan.load`. @throws {ArgumentError} */
export function loadOptions(options: LoadOptions): LoadOptions {
  return checkOptions("load", options, loadKinds);
}

/** The options of `Backend.compile`. @throws {ArgumentError} for them and for the program */
export function compileOptions(program: ProgramGraph, options: CompileOptions): CompileOptions {
  check("compile", "program", program, programGraph, "record one with createProgram()");
  return checkOptions("compile", options, compileKinds);
}
