import type { Backend, BackendFactory, CompileOptions, Counters, Plan } from "./backend.ts";
import { type CustomOp, customOp } from "./custom.ts";
import { type DType, dtypeOf, type TypedArray } from "./dtype.ts";
import { ArgumentError, CentellaError } from "./errors.ts";
import { type Chain, LazyCore, type LazyTensor } from "./lazy.ts";
import { type AnyOp, inputName, isRequiredInput } from "./op.ts";
import { homesIn, type Placement } from "./placement.ts";
import { PlanCache, type PlanCacheStats } from "./planCache.ts";
import { completeParams, createProgram, type OpMethods, opMethods, type ProgramGraph, requireInputs } from "./program.ts";
import { reference } from "./reference.ts";
import { type Candidate, openCandidates, type Policy, type Selection, select, selectForProgram } from "./select.ts";
import { formatSpec } from "./spec.ts";
import { compilePlaced } from "./splitPlan.ts";
import { opKey, structuralKey } from "./structuralKey.ts";
import { hostTensor, Tensor } from "./tensor.ts";
import { thresholds as measured } from "./thresholds.ts";

export interface RuntimeOptions {
  /** In order of preference. The scalar reference is always there, last. */
  readonly backends: readonly BackendFactory[];
  readonly policy?: RuntimePolicy;
}

export interface RuntimePolicy extends Policy {
  /** A backend that fails while running raises its error; "retry" computes the eager call on the next one instead. */
  readonly fallback?: "error" | "retry";
  /** Compiled eager calls and lazy chains that are kept (256); the least recently used goes first. */
  readonly maxPlans?: number;
  /** Bytes of tensors that kept plans may hold (256 MiB), by an upper bound for each. */
  readonly maxPlanBytes?: number;
}

/** How a program is compiled. */
export interface RuntimeCompileOptions extends CompileOptions {
  /** Homes of persistents. A forced backend is alone and takes none other. */
  readonly placement?: Placement;
}

/** Opened backends with one way to choose among them. Its op methods compute at once: `await runtime.matmul(a, b)`. */
export type Runtime = RuntimeCore & OpMethods<Tensor, Promise<Tensor>>;

/**
 * Opens the backends that this machine has. `CENTELLA_BACKEND` in the environment forces one, as `policy.force` does.
 * @throws {ArgumentError} if the forced backend is not among `backends`
 */
export async function createRuntime({ backends, policy = {} }: RuntimeOptions): Promise<Runtime> {
  const force = policy.force ?? backendFromEnvironment();
  const factories = backends.some(({ name }) => name === reference().name) ? backends : [...backends, reference()];
  const names = factories.map(({ name }) => name);
  if (force !== undefined && !names.includes(force)) {
    throw new ArgumentError("backend", `one of ${names.join(", ")}`, force, "check the name, and that its package is installed");
  }
  const wanted = force === undefined ? factories : factories.filter(({ name }) => name === force);
  const core = new RuntimeCore(await openCandidates(wanted), force === undefined ? policy : { ...policy, force });
  return Object.assign(
    core,
    opMethods<Tensor, Promise<Tensor>>((op, inputs, params) => core.call(op, inputs, params)),
  );
}

/** The runtime without its op methods. */
export class RuntimeCore {
  readonly candidates: readonly Candidate[];
  readonly #policy: RuntimePolicy;
  readonly #plans: PlanCache<Plan>;

  constructor(candidates: readonly Candidate[], policy: RuntimePolicy) {
    this.candidates = candidates;
    this.#policy = policy;
    this.#plans = new PlanCache({ maxPlans: policy.maxPlans ?? 256, maxBytes: policy.maxPlanBytes ?? 256 * 2 ** 20 });
  }

  /** The open backends in order of preference. */
  get backends(): readonly Backend[] {
    return this.candidates.flatMap(({ backend }) => backend ?? []);
  }

  /** A tensor in host memory; `data` (its stored form) is copied. */
  tensor(data: TypedArray, shape: readonly number[] = [data.length], dtype: DType = dtypeOf(data)): Tensor {
    return hostTensor({ dtype, shape }, data);
  }

  /**
   * A tensor whose ops record instead of computing: `await a.matmul(b).add(c).relu().data()` is one submission. `source` is the
   * stored form of its elements, which is copied, or a tensor of any backend, which must live until the chain is computed.
   */
  lazy(source: TypedArray | Tensor, shape?: readonly number[], dtype?: DType): LazyTensor {
    if (source instanceof Tensor && shape !== undefined)
      throw new ArgumentError("lazy", "a tensor alone, which has a shape", "a tensor and a shape", "reshape it");
    const tensor = source instanceof Tensor ? source : this.tensor(source, shape, dtype);
    return new LazyCore(this, tensor.spec, { tensor }) as LazyTensor;
  }

  /** Computes a chain of a lazy tensor on the backend that {@link select} names for it; its plan is kept. */
  async runLazy({ key, tensors, record }: Chain): Promise<Tensor> {
    const plan = await this.#plans.get(`lazy ${key}`, record, (program) => this.compile(program));
    return plan.run(Object.fromEntries(tensors.map((tensor, i) => [String(i), tensor]))).y!;
  }

  /** What the cache of eager calls and lazy chains holds and has done. */
  get planCache(): PlanCacheStats {
    return this.#plans.stats;
  }

  /** Which backend a program would be compiled on, and why. @throws {UnsupportedError} */
  select(program: ProgramGraph): Selection {
    return selectForProgram(program, this.candidates, this.#policy.thresholds ?? measured, this.#policy);
  }

  /**
   * Compiles a program on the backend that {@link select} names. With a `placement`, persistents live on the backends that it
   * names (others where `select` says), and the program is cut where they change: `program.explain({ placement, backends })`
   * lists the parts. Such a plan shares no memory with another one.
   * @throws {UnsupportedError | ArgumentError}
   */
  async compile(program: ProgramGraph, options: RuntimeCompileOptions = {}): Promise<Plan & { readonly selection: Selection }> {
    const { placement, ...rest } = options;
    const { force } = this.#policy;
    if (placement === undefined) {
      const selection = this.select(program);
      return Object.assign(await selection.backend.compile(program, rest), { selection });
    }
    if (rest.shareWith !== undefined)
      throw new ArgumentError("compile", "a placement or shareWith", "both", "compile it without one of them");
    const homes = homesIn(placement);
    if (force !== undefined && homes.some((home) => home !== force))
      throw new ArgumentError("placement", `${force} alone, which is forced`, homes.join(", "), "force no backend, or place nothing");
    const isPlaced = [...program.persistents.keys()].every((name) => Object.hasOwn(placement, name));
    const first = isPlaced ? this.backends.find(({ name }) => name === homes[0]) : undefined;
    const backend = first ?? this.select(program).backend;
    const plan = await compilePlaced(program, placement, [backend, ...this.backends.filter((other) => other !== backend)], rest);
    return Object.assign(plan, { selection: { backend, reason: `placed on ${homes.join(", ")}`, rejected: [] } });
  }

  /** One op at once: selects a backend, compiles the one-op program (cached) and runs it. */
  async call(op: AnyOp, inputs: readonly (Tensor | undefined)[], given: object): Promise<Tensor> {
    const params = completeParams(op, given);
    requireInputs(op, inputs);
    inputs.forEach((tensor, i) => {
      if (!(tensor instanceof Tensor) && (tensor !== undefined || isRequiredInput(op, i)))
        throw new ArgumentError(op.name, `${inputName(op, i)} to be a tensor`, typeof tensor);
    });
    const specs = inputs.map((tensor) => tensor?.spec);
    const residency = inputs.flatMap((tensor) => tensor?.home ?? []);
    const { thresholds = measured, fallback, force } = this.#policy;
    let candidates = this.candidates;
    for (;;) {
      const { backend } = select(op, specs, params, residency, candidates, thresholds, this.#policy);
      try {
        return await this.#callOn(backend, op, inputs, params);
      } catch (error) {
        candidates = candidates.filter((candidate) => candidate.backend !== backend);
        const isLast = force !== undefined || candidates.every((candidate) => candidate.backend === undefined);
        if (fallback !== "retry" || isLast || !(error instanceof CentellaError)) throw error;
      }
    }
  }

  /** A call of an op of the user's own, like the op methods: see {@link CustomOp}. */
  custom<P extends object>(op: CustomOp<P>, inputs: readonly Tensor[], params: Partial<NoInfer<P>> = {}): Promise<Tensor> {
    return this.call(customOp(op), inputs, params);
  }

  /** Counts of every open backend, by name. */
  get counters(): Readonly<Record<string, Counters>> {
    return Object.fromEntries(this.backends.map((backend) => [backend.name, backend.counters]));
  }

  /** Frees everything that the runtime's backends hold. */
  async dispose(): Promise<void> {
    this.#plans.clear();
    for (const backend of this.backends) await backend.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #callOn(backend: Backend, op: AnyOp, inputs: readonly (Tensor | undefined)[], params: object): Promise<Tensor> {
    const plan = await this.#plan(backend, op, inputs, params);
    const given = inputs.flatMap((tensor, i) => (tensor === undefined ? [] : [[String(i), tensor] as const]));
    const { y } = plan.run(Object.fromEntries(given));
    if (this.#policy.fallback !== "retry") return y!;
    try {
      await y!.ready();
      return y!;
    } catch (error) {
      y!.dispose();
      throw error;
    }
  }

  #plan(backend: Backend, op: AnyOp, inputs: readonly (Tensor | undefined)[], params: object): Promise<Plan> {
    const specs = inputs.map((tensor) => tensor && formatSpec(tensor.spec));
    const key = structuralKey([backend.name, opKey(op), specs, params]);
    return this.#plans.get(
      key,
      () => oneCall(op, inputs, params),
      (program) => backend.compile(program),
    );
  }
}

function oneCall(op: AnyOp, inputs: readonly (Tensor | undefined)[], params: object): ProgramGraph {
  const program = createProgram();
  const refs = inputs.map((tensor, i) => tensor && program.input(String(i), tensor.spec.dtype, tensor.spec.shape));
  program.output("y", program.record(op, refs, params), { to: "device" });
  return program;
}

function backendFromEnvironment(): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.CENTELLA_BACKEND || undefined;
}
