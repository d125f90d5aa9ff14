import { elementAt, named } from "@centella/quant/checks";
import type { Backend } from "../backend/backend.ts";
import { DisposedError } from "../errors.ts";
import type { AnyOp } from "../program/op.ts";
import { type ProgramGraph, specOf } from "../program/programGraph.ts";
import type { ConcreteSpec } from "../spec.ts";
import { ownedTensor, peek, type Tensor } from "../tensor.ts";
import { CallLog, type Tally } from "./callLog.ts";
import { Fallback, type Request } from "./fallback.ts";
import type { Chain } from "./lazy.ts";
import { checkCall, movedTo, numbered, oneCall } from "./oneCall.ts";
import { PlanCache } from "./planCache.ts";
import type { RuntimePolicy } from "./runtimeOptions.ts";
import { type Candidate, callRequest, choose, type Selection, selectForProgram } from "./select.ts";

/** Computes a runtime's calls: awaited calls, `sync` calls, and chains of lazy tensors. Users hold a runtime and never see its engine. */
export class Engine {
  readonly candidates: readonly Candidate[];
  readonly policy: RuntimePolicy;
  readonly plans: PlanCache;
  readonly log: CallLog = new CallLog();
  readonly fallback: Fallback;
  #disposal: Promise<void> | undefined;

  constructor(candidates: readonly Candidate[], policy: RuntimePolicy) {
    this.candidates = candidates;
    this.policy = policy;
    this.fallback = new Fallback(candidates, policy, this.log);
    this.plans = new PlanCache({ maxPlans: policy.maxPlans ?? 256, maxBytes: policy.maxPlanBytes ?? 256 * 2 ** 20 });
  }

  /** The open backends in order of preference. */
  get backends(): readonly Backend[] {
    return this.candidates.flatMap(({ backend }) => backend ?? []);
  }

  /** One op at once: selects a backend, compiles the one-op program (cached) and runs it. */
  async call(op: AnyOp, inputs: readonly (Tensor | undefined)[], given: object): Promise<Tensor> {
    this.requireAlive();
    const { params, key, devices } = checkCall(op, inputs, given);
    const selectAmong = (candidates: readonly Candidate[]): Selection => this.#select(op, inputs, params, candidates, false);
    return this.fallback.run(
      { key: `${key} ${devices}`, planKey: key, op: op.name, selectAmong },
      async ({ selection: { backend }, tally, planKey }) => {
        const plan = await this.plans.get(
          planKey,
          () => oneCall(op, inputs, params, "device"),
          (program) => backend.compile(program),
        );
        return this.#settled(tally, backend, inputs, () => named(plan.run(numbered(inputs, (tensor) => tensor)), "y"));
      },
    );
  }

  /** Like {@link call}, but computes before it returns: the methods of `runtime.sync`. The inputs' content must be at hand. */
  callSync(op: AnyOp, inputs: readonly (Tensor | undefined)[], given: object): Tensor {
    this.requireAlive();
    const { params, key, devices } = checkCall(op, inputs, given);
    const content = numbered(inputs, peek);
    const selectAmong = (candidates: readonly Candidate[]): Selection => this.#select(op, inputs, params, candidates, true);
    const request: Request = { key: `sync ${key} ${devices}`, planKey: `sync ${key}`, op: op.name, selectAmong };
    return this.fallback.runSync(request, ({ selection: { backend }, tally, planKey }) => {
      const start = performance.now();
      tally.calls++;
      tally.bytesMoved += movedTo(backend.name, inputs);
      try {
        const plan = this.plans.get(
          planKey,
          () => oneCall(op, inputs, params, "host"),
          (program) => backend.compileSync!(program),
        );
        const y = named(plan.runSync!(content), "y");
        return ownedTensor(specOf(plan.program, elementAt(plan.program.outputs, 0).value) as ConcreteSpec, y);
      } finally {
        tally.ms += performance.now() - start;
      }
    });
  }

  /** Computes a chain of a lazy tensor on the backend that {@link selectForProgram} names for it; its plan is kept. */
  async runLazy({ key, tensors, record }: Chain): Promise<Tensor> {
    this.requireAlive();
    let recorded: ProgramGraph | undefined;
    const program = (): ProgramGraph => {
      recorded ??= record();
      return recorded;
    };
    const devices = Object.fromEntries(tensors.map(({ device }, i) => [String(i), device]));
    const inputs = Object.fromEntries(tensors.map((tensor, i) => [String(i), tensor]));
    const request: Request = {
      key: `lazy ${key} ${Object.values(devices).join(" ")}`,
      planKey: `lazy ${key}`,
      op: "lazy",
      selectAmong: (candidates) => selectForProgram(program(), candidates, this.policy, devices),
    };
    return this.fallback.run(request, async ({ selection: { backend }, tally, planKey }) => {
      const plan = await this.plans.get(planKey, program, (graph) => backend.compile(graph));
      return this.#settled(tally, backend, tensors, () => named(plan.run(inputs), "y"));
    });
  }

  /** Frees the plans and the backends, once. */
  dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  /** @throws {DisposedError} */
  requireAlive(): void {
    if (this.#disposal !== undefined) throw new DisposedError("runtime");
  }

  async #dispose(): Promise<void> {
    this.plans.clear();
    this.fallback.forget();
    for (const backend of this.backends) await backend.dispose();
  }

  #select(op: AnyOp, inputs: readonly (Tensor | undefined)[], params: object, candidates: readonly Candidate[], sync: boolean): Selection {
    const specs = inputs.map((tensor) => tensor?.spec);
    const devices = inputs.map((tensor) => tensor?.device);
    return choose({ ...callRequest(op, specs, params, devices), sync }, candidates, this.policy);
  }

  /** Runs and counts. With "retry" and with `trace`, waits for the result. */
  async #settled(tally: Tally, backend: Backend, inputs: readonly (Tensor | undefined)[], run: () => Tensor): Promise<Tensor> {
    const start = performance.now();
    tally.calls++;
    tally.bytesMoved += movedTo(backend.name, inputs);
    let y: Tensor | undefined;
    try {
      y = run();
      if (this.policy.fallback === "retry" || this.policy.trace === true) await y.ready();
      return y;
    } catch (error) {
      y?.dispose();
      throw error;
    } finally {
      tally.ms += performance.now() - start;
    }
  }
}
