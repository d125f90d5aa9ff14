import type { Backend, BackendFactory } from "./backend.ts";
import { UnsupportedError } from "./errors.ts";
import { lower } from "./lower.ts";
import type { AnyOp, Cost } from "./op.ts";
import type { ProgramGraph } from "./program.ts";
import { type ConcreteSpec, maxSpec } from "./spec.ts";
import type { Threshold, Thresholds } from "./thresholds.ts";

/** A backend that was asked for: open, or not available with the reason. In order of preference. */
export type Candidate =
  | { readonly name: string; readonly backend: Backend; readonly unavailable?: undefined }
  | { readonly name: string; readonly backend?: undefined; readonly unavailable: string };

/** What was chosen, why, and for each backend that was not, the reason in words. */
export interface Selection {
  readonly backend: Backend;
  readonly reason: string;
  readonly rejected: readonly string[];
}

/** What the caller wants of a selection. */
export interface Policy {
  /** This backend alone: no other is considered, thresholds do not count. */
  readonly force?: string;
  /** Let software GPUs (SwiftShader, lavapipe) compete too. */
  readonly allowSoftware?: boolean;
  readonly thresholds?: Thresholds;
}

interface Request {
  /** For messages: the op's name, or "program". */
  readonly what: string;
  readonly cost: Cost;
  readonly threshold: (of: NonNullable<Thresholds[string]>) => Threshold | undefined;
  readonly unsupported: (backend: Backend) => string | undefined;
  /** Homes of the tensors involved. */
  readonly residency: readonly string[];
}

/** Chooses where one op call runs. Pure. @throws {UnsupportedError} if no candidate can, with every reason. */
export function select(
  op: AnyOp,
  inputs: readonly (ConcreteSpec | undefined)[],
  params: object,
  residency: readonly string[],
  candidates: readonly Candidate[],
  thresholds: Thresholds,
  policy: Policy = {},
): Selection {
  const output = maxSpec(op.infer(inputs, params));
  return choose(
    {
      what: op.name,
      cost: op.cost(inputs, params, output),
      threshold: (of) => of[op.name as keyof typeof of] ?? of.default,
      unsupported: (backend) => backend.unsupported(op, inputs, params, output),
      residency,
    },
    candidates,
    thresholds,
    policy,
  );
}

/** Chooses where a whole program is compiled: every op must have a kernel there. Pure. @throws {UnsupportedError} */
export function selectForProgram(
  program: ProgramGraph,
  candidates: readonly Candidate[],
  thresholds: Thresholds,
  policy: Policy = {},
): Selection {
  const cost = programCost(program);
  return choose(
    { what: "program", cost, threshold: (of) => of.program, unsupported: (backend) => unsupportedNode(program, backend), residency: [] },
    candidates,
    thresholds,
    policy,
  );
}

/** Work of one run with every symbolic dim at its maximum. */
export function programCost(program: ProgramGraph): Cost {
  const spec = (id: number | undefined): ConcreteSpec | undefined => (id === undefined ? undefined : maxSpec(program.values[id]!.spec));
  const costs = program.nodes.map(({ op, inputs, params, output }) => op.cost(inputs.map(spec), params, spec(output)!));
  return { flops: costs.reduce((sum, cost) => sum + cost.flops, 0), bytes: costs.reduce((sum, cost) => sum + cost.bytes, 0) };
}

/** Opens every factory. One that cannot be opened stays in the list with its reason. */
export async function openCandidates(factories: readonly BackendFactory[]): Promise<readonly Candidate[]> {
  return Promise.all(
    factories.map(async ({ name, open }): Promise<Candidate> => {
      try {
        return { name, backend: await open() };
      } catch (error) {
        if (error instanceof UnsupportedError) return { name, unavailable: error.reason };
        throw error;
      }
    }),
  );
}

function choose(
  request: Request,
  candidates: readonly Candidate[],
  thresholds: Thresholds,
  { force, allowSoftware = false }: Policy,
): Selection {
  const rejected: string[] = [];
  for (const candidate of candidates) {
    if (force !== undefined && candidate.name !== force) {
      rejected.push(`${candidate.name}: ${force} is forced`);
      continue;
    }
    const reason = rejection(request, candidate, thresholds[candidate.name], force !== undefined, allowSoftware);
    if (reason === undefined && candidate.backend !== undefined) {
      return { backend: candidate.backend, reason: force === undefined ? "first choice that can" : "forced", rejected };
    }
    rejected.push(`${candidate.name}: ${reason}`);
  }
  if (force !== undefined && !candidates.some(({ name }) => name === force)) {
    throw new UnsupportedError(
      request.what,
      `unknown backend ${force}; use one of ${candidates.map(({ name }) => name).join(", ") || "none (no backend was given)"}`,
    );
  }
  throw new UnsupportedError(request.what, `no backend can run it (${rejected.join("; ") || "none was given"})`);
}

function rejection(
  { what, cost, threshold, unsupported, residency }: Request,
  candidate: Candidate,
  table: Thresholds[string],
  forced: boolean,
  allowSoftware: boolean,
): string | undefined {
  if (candidate.backend === undefined) return candidate.unavailable;
  const { backend } = candidate;
  const reason = unsupported(backend);
  if (reason !== undefined || forced) return reason;
  if (backend.device.kind === "software-gpu" && !allowSoftware)
    return `${backend.device.name} is a software adapter, slower than wasm; force it to use it`;
  const limit = table && threshold(table);
  if (limit === undefined || residency.includes(backend.name)) return undefined;
  const work = cost[limit.unit];
  if (work >= limit.min) return undefined;
  return limit.min === Number.POSITIVE_INFINITY
    ? `${what} on host data never repays the transfer`
    : `${work.toLocaleString("en")} ${limit.unit} < ${limit.min.toExponential(1)}, the crossover for ${what}`;
}

function unsupportedNode(program: ProgramGraph, backend: Backend): string | undefined {
  try {
    // Fused or not makes no difference: every call must have a kernel of its own.
    lower(program, backend.name, (...call) => backend.unsupported(...call), { optimize: false });
    return undefined;
  } catch (error) {
    if (error instanceof UnsupportedError) return error.message;
    throw error;
  }
}
