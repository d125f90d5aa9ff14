import { check, elementAt, isRecord, kind, list, listOf, object, string } from "@centella/quant/checks";
import type { Backend, BackendFactory } from "../backend/backend.ts";
import { firstUnsupported } from "../compiler/lower.ts";
import { deadCode } from "../compiler/passes/deadCode.ts";
import { UnsupportedError } from "../errors.ts";
import { opDefinition, openBackend, programGraph } from "../kinds.ts";
import { type OpName, ops } from "../ops/index.ts";
import { type AnyOp, type Cost, isRequiredInput } from "../program/op.ts";
import { requireInputs } from "../program/program.ts";
import { type ProgramGraph, specOf } from "../program/programGraph.ts";
import { byteLength, type ConcreteSpec, checkSpec, maxSpec } from "../spec.ts";
import type { BackendThresholds, Threshold, Thresholds, Transfer } from "./thresholdTypes.ts";

/** A requested backend: open, or not available with the reason. */
export type Candidate =
  | {
      readonly name: string;
      readonly backend: Backend;
      readonly unavailable?: undefined;
      /** See `BackendFactory.weightBytes`. */
      readonly weightBytes?: NonNullable<BackendFactory["weightBytes"]>;
    }
  | { readonly name: string; readonly backend?: undefined; readonly unavailable: string; readonly weightBytes?: undefined };

/** A backend that does not run a request, and why. */
export interface Rejection {
  readonly backend: string;
  /** The op of a program that the backend has no kernel for. */
  readonly op?: string;
  readonly reason: string;
}

/** The chosen backend, the reason, and the backends that were asked before it. */
export interface Selection {
  readonly backend: Backend;
  readonly reason: string;
  readonly rejected: readonly Rejection[];
}

/** The caller's preferences for a selection. */
export interface Policy {
  /** Considers this backend alone, whatever the thresholds. */
  readonly force?: string;
  /** Lets software GPUs (SwiftShader, lavapipe) compete too. */
  readonly allowSoftware?: boolean;
  /** Replaces single entries of the backends' own thresholds, e.g. with what `runtime.calibrate()` returned. */
  readonly thresholds?: Thresholds;
}

/** Whether a backend takes a request, and why. */
export interface Verdict extends Rejection {
  readonly takes: boolean;
  /** The backend can run the request, but the work is below its threshold, so all other capable backends come first. */
  readonly defers?: true;
}

/** The properties of a call or program that decide which backend runs it. */
export interface SelectionRequest {
  /** For messages: the op's name, or "program". */
  readonly what: string;
  readonly cost: Cost;
  readonly threshold: (of: BackendThresholds) => Threshold | undefined;
  readonly unsupported: (backend: Backend) => Omit<Rejection, "backend"> | undefined;
  /** Where each input is stored, and its size. */
  readonly inputs: readonly { readonly device: string; readonly bytes: number }[];
  /** Considers only backends that compute before the call returns. */
  readonly sync?: boolean;
}

/**
 * Chooses where one op call runs. Pure. `devices` says where each input is stored; "host" where left out.
 * @throws {UnsupportedError} if no candidate can, with every reason
 */
export function select(
  op: AnyOp,
  inputs: readonly (ConcreteSpec | undefined)[],
  params: object,
  devices: readonly (string | undefined)[],
  candidates: readonly Candidate[],
  policy: Policy = {},
): Selection {
  check("select", "op", op, opDefinition);
  requireInputs(op, inputs);
  check("select", "params", params, object);
  check("select", "devices", devices, list);
  checkChoice(candidates, policy);
  return choose(callRequest(op, inputs, params, devices), candidates, policy);
}

/**
 * Chooses where a whole program is compiled: every op must have a kernel there. Pure. `devices` says where each
 * input is stored, by name; "host" where left out. @throws {UnsupportedError}
 */
export function selectForProgram(
  program: ProgramGraph,
  candidates: readonly Candidate[],
  policy: Policy = {},
  devices: Readonly<Record<string, string>> = {},
): Selection {
  check("select", "program", program, programGraph);
  check("select", "devices", devices, object);
  checkChoice(candidates, policy);
  return choose(programRequest(program, devices), candidates, policy);
}

const candidateList = listOf(
  "candidates",
  kind("a candidate", (value) => isRecord(value) && (value.backend === undefined || openBackend.accepts(value.backend))),
);

function checkChoice(candidates: readonly Candidate[], policy: Policy): void {
  check("select", "candidates", candidates, candidateList, "pass runtime.candidates");
  check("select", "policy", policy, object);
  if (policy.force !== undefined) check("select", "policy.force", policy.force, string);
  if (policy.thresholds !== undefined) check("select", "policy.thresholds", policy.thresholds, object);
}

/** The request of one op call. */
export function callRequest(
  op: AnyOp,
  inputs: readonly (ConcreteSpec | undefined)[],
  params: object,
  devices: readonly (string | undefined)[],
): SelectionRequest {
  for (const [i, spec] of inputs.entries()) if (spec !== undefined || isRequiredInput(op, i)) checkSpec(op.name, spec as ConcreteSpec);
  const output = maxSpec(op.infer(inputs, params));
  return {
    what: op.name,
    cost: op.cost(inputs, params, output),
    // A custom op may have any name.
    threshold: (of) => (Object.hasOwn(ops, op.name) ? of[op.name as OpName] : undefined) ?? of[classOf(op)],
    unsupported(backend) {
      const reason = backend.unsupported(op, inputs, params, output);
      return reason === undefined ? undefined : { reason };
    },
    inputs: inputs.flatMap((spec, i) => (spec === undefined ? [] : [{ device: devices[i] ?? "host", bytes: byteLength(spec) }])),
  };
}

/** The request of one run of a program. */
export function programRequest(program: ProgramGraph, devices: Readonly<Record<string, string>> = {}): SelectionRequest {
  return {
    what: "program",
    cost: programCost(program),
    threshold: (of) => of.program,
    unsupported: (backend) => firstUnsupported(deadCode(program), (...call) => backend.unsupported(...call)),
    inputs: [...program.inputs].map(([name, id]) => ({
      device: devices[name] ?? "host",
      bytes: byteLength(maxSpec(specOf(program, id))),
    })),
  };
}

/** Whether an op's time is proportional to its flops or to its bytes. */
export function classOf(op: AnyOp): "compute" | "memory" {
  return op.computeBound === true ? "compute" : "memory";
}

/** Work of one run with every symbolic dim at its maximum. */
export function programCost(program: ProgramGraph): Cost {
  const spec = (id: number): ConcreteSpec => maxSpec(specOf(program, id));
  const costs = program.nodes.map(({ op, inputs, params, output }) =>
    op.cost(
      inputs.map((id) => (id === undefined ? undefined : spec(id))),
      params,
      spec(output),
    ),
  );
  return { flops: costs.reduce((sum, cost) => sum + cost.flops, 0), bytes: costs.reduce((sum, cost) => sum + cost.bytes, 0) };
}

/** Opens every factory. A backend that cannot be opened stays in the list with the reason. */
export async function openCandidates(factories: readonly BackendFactory[]): Promise<readonly Candidate[]> {
  return Promise.all(
    factories.map(async ({ name, open, weightBytes }): Promise<Candidate> => {
      try {
        return { name, backend: await open(), ...(weightBytes && { weightBytes }) };
      } catch (error) {
        if (error instanceof UnsupportedError) return { name, unavailable: error.reason };
        throw error;
      }
    }),
  );
}

/** The first candidate that takes the request. Pure. @throws {UnsupportedError} if none does */
export function choose(request: SelectionRequest, candidates: readonly Candidate[], policy: Policy): Selection {
  const asked: Verdict[] = [];
  for (const candidate of candidates) {
    const verdict = judge(request, candidate, policy);
    asked.push(verdict);
    if (verdict.takes) break;
  }
  const verdicts = orLastResort(asked);
  const chosen = verdicts.findIndex(({ takes }) => takes);
  const rejected = verdicts.flatMap(({ backend, op, reason }, i): Rejection[] =>
    i === chosen ? [] : [{ backend, ...(op !== undefined && { op }), reason }],
  );
  const backend = candidates[chosen]?.backend;
  if (backend !== undefined) return { backend, reason: elementAt(verdicts, chosen).reason, rejected };
  const { force } = policy;
  const names = candidates.map(({ name }) => name);
  if (force !== undefined && !names.includes(force))
    throw new UnsupportedError(request.what, `unknown backend ${force}; use one of ${names.join(", ")}`);
  const reasons = rejected.map(formatRejection).join("; ") || "none was given";
  throw new UnsupportedError(request.what, `no backend can run it (${reasons})${request.sync === true ? syncHint(candidates) : ""}`);
}

/** If no backend accepts the request, the last deferred one runs it: thresholds order backends and never refuse a request. */
export function orLastResort(verdicts: readonly Verdict[]): readonly Verdict[] {
  if (verdicts.some(({ takes }) => takes)) return verdicts;
  const last = verdicts.findLastIndex(({ defers }) => defers === true);
  return verdicts.map((verdict, i) =>
    i === last ? { ...verdict, takes: true, reason: `${verdict.reason}, but no other backend can run it` } : verdict,
  );
}

/** What a caller can do about a call that no backend computes before it returns. */
function syncHint(candidates: readonly Candidate[]): string {
  const able = candidates.flatMap(({ name, backend }) => (backend !== undefined && answersWithinCall(backend) ? [name] : []));
  return able.length > 0
    ? `; those that compute within a call: ${able.join(", ")}`
    : "; none of them computes within a call: await it, or give createRuntime reference() or another backend that does";
}

/** `backend: reason`, with the op that has no kernel between them where there is one. */
export function formatRejection({ backend, op, reason }: Rejection): string {
  return [backend, ...(op === undefined ? [] : [op]), reason].join(": ");
}

/** One candidate's verdict, whatever the others say. Pure. */
export function judge(request: SelectionRequest, candidate: Candidate, policy: Policy): Verdict {
  const { name: backend } = candidate;
  const { force } = policy;
  if (force !== undefined && backend !== force) return { backend, takes: false, reason: `${force} is forced` };
  if (candidate.backend === undefined) return { backend, takes: false, reason: candidate.unavailable };
  const obstacle = obstacleFor(request, candidate.backend, policy);
  if (obstacle !== undefined) return { backend, takes: false, ...obstacle };
  if (force !== undefined) return { backend, takes: true, reason: "forced" };
  const { takes, reason } = isWorthIt(request, backend, { ...candidate.backend.thresholds, ...policy.thresholds?.[backend] });
  return { backend, takes, reason, ...(!takes && { defers: true }) };
}

/** Whether a backend can compute before a call returns. */
export function answersWithinCall(backend: Backend): boolean {
  return backend.syncAvailable && backend.compileSync !== undefined;
}

/** Why an open backend cannot or must not run the request, however large it is. */
function obstacleFor(
  { unsupported, sync }: SelectionRequest,
  backend: Backend,
  { force, allowSoftware = false }: Policy,
): Omit<Rejection, "backend"> | undefined {
  if (sync === true && !answersWithinCall(backend)) return { reason: "it answers later, not within the call" };
  const obstacle = unsupported(backend);
  if (obstacle !== undefined || force !== undefined || allowSoftware || backend.device.kind !== "software-gpu") return obstacle;
  return { reason: `${backend.device.name} is a software adapter, slower than backends for CPUs; force it to use it` };
}

/** Whether the work repays the backend's fixed costs and the transfer of the data that is stored elsewhere. */
function isWorthIt(
  { what, cost, threshold, inputs }: SelectionRequest,
  backend: string,
  table: BackendThresholds,
): Omit<Verdict, "backend"> {
  const limit = threshold(table);
  if (limit === undefined) return { takes: true, reason: "first choice that can" };
  const here = inputs.filter(({ device }) => device === backend);
  const elsewhere = inputs.filter(({ device }) => device !== backend);
  if (here.length > 0 && transferUs(elsewhere, table.transfer) <= transferUs(here, table.transfer)) {
    const moved = sumBytes(elsewhere).toLocaleString("en");
    const kept = sumBytes(here).toLocaleString("en");
    return {
      takes: true,
      reason: elsewhere.length === 0 ? "its data lives there" : `moving ${moved} bytes there beats moving ${kept} away`,
    };
  }
  if (limit.min === "never") return { takes: false, reason: `${what} on host data never repays the transfer` };
  const work = cost[limit.unit];
  const figures = `${work.toLocaleString("en")} ${limit.unit} ${work < limit.min ? "<" : ">="} ${limit.min.toExponential(1)}`;
  return { takes: work >= limit.min, reason: `${figures}, the crossover for ${what}` };
}

/** Time to move tensors between the host and a backend together. Without a measurement, a byte takes a microsecond. */
function transferUs(tensors: SelectionRequest["inputs"], { latencyUs, bytesPerUs }: Transfer = { latencyUs: 1, bytesPerUs: 1 }): number {
  return tensors.length === 0 ? 0 : latencyUs + sumBytes(tensors) / bytesPerUs;
}

function sumBytes(tensors: SelectionRequest["inputs"]): number {
  return tensors.reduce((sum, { bytes }) => sum + bytes, 0);
}
