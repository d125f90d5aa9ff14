import { boolean, check, checkOptions, kind, list, object } from "@centella/quant/checks";
import type { Backend, CompileOptions, Counters, Plan } from "../backend/backend.ts";
import { type DType, dtypeOf, type TypedArray } from "../dtype.ts";
import { ArgumentError, DisposedError, NotLoadedError } from "../errors.ts";
import { compileOptions, opDefinition, programGraph } from "../kinds.ts";
import { type OpName, ops } from "../ops/index.ts";
import { type CustomOp, customOp } from "../program/custom.ts";
import type { AnyOp } from "../program/op.ts";
import type { OpMethods } from "../program/opMethods.ts";
import { completeParams, opMethods, requireInputs } from "../program/program.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import type { ConcreteSpec } from "../spec.ts";
import { hostTensor, ownedTensor, peek, Tensor } from "../tensor.ts";
import type { Calibration, CalibrationOptions } from "./calibrate.ts";
import { CallLog, counted, type RuntimeReport, type Tally } from "./callLog.ts";
import { type Explanation, explainRequest } from "./explanation.ts";
import { Fallback, type Request, withoutBackend } from "./fallback.ts";
import { type Chain, LazyCore, type LazyTensor } from "./lazy.ts";
import { checkCall, movedTo, numbered, oneCall } from "./oneCall.ts";
import { homesIn, type Placement } from "./placement.ts";
import { PlanCache, type PlanCacheStats } from "./planCache.ts";
import type { RuntimePolicy } from "./runtimeOptions.ts";
import { type Candidate, callRequest, choose, type Selection, selectForProgram } from "./select.ts";
import type { SplitPlan } from "./splitPlan.ts";
import { thresholds as measured, mergeThresholds } from "./thresholds.ts";
import type { Thresholds } from "./thresholdTypes.ts";

/** How a program is compiled. */
export interface RuntimeCompileOptions extends CompileOptions {
  /** Backend for each persistent. A forced backend rules out all others. */
  readonly placement?: Placement;
}

/** Opened backends with one way to choose among them. Its op methods compute at once: `await runtime.matmul(a, b)`. */
export type Runtime = RuntimeCore & OpMethods<Tensor, Promise<Tensor>>;

const nameOrDefinition = kind("the name of an op or its definition", opDefinition.accepts);

/** The runtime without its op methods. */
export class RuntimeCore {
  readonly candidates: readonly Candidate[];
  /**
   * The ops as plain calls: `runtime.sync.matmul(a, b)` computes before it returns, on a backend that can (the reference; WASM in
   * Node and in workers; CUDA) and has no awaited work in progress. The result is in host memory: `dataSync()`.
   */
  readonly sync: OpMethods<Tensor, Tensor>;
  readonly #policy: RuntimePolicy;
  readonly #thresholds: Thresholds;
  readonly #plans: PlanCache;
  readonly #log = new CallLog();
  readonly #fallback: Fallback;
  #disposal: Promise<void> | undefined;

  constructor(candidates: readonly Candidate[], policy: RuntimePolicy) {
    this.candidates = candidates;
    this.#policy = policy;
    this.#fallback = new Fallback(candidates, policy, this.#log);
    this.#thresholds = mergeThresholds(measured, policy.thresholds ?? {});
    this.#plans = new PlanCache({ maxPlans: policy.maxPlans ?? 256, maxBytes: policy.maxPlanBytes ?? 256 * 2 ** 20 });
    this.sync = opMethods<Tensor, Tensor>((op, inputs, params) => this.callSync(op, inputs, params));
  }

  /** The open backends in order of preference. */
  get backends(): readonly Backend[] {
    return this.candidates.flatMap(({ backend }) => backend ?? []);
  }

  /** A tensor in host memory; `data` (its stored form) is copied. */
  tensor(data: TypedArray, shape?: readonly number[], dtype: DType = dtypeOf(data)): Tensor {
    this.#requireAlive();
    return hostTensor({ dtype, shape: shape ?? [data.length] }, data);
  }

  /**
   * A tensor whose ops record instead of computing: `await a.matmul(b).add(c).relu().data()` is one submission. `source` is the
   * stored form of its elements, which is copied, or a tensor of any backend, which must live until the chain is computed.
   */
  lazy(source: TypedArray | Tensor, shape?: readonly number[], dtype?: DType): LazyTensor {
    this.#requireAlive();
    if (source instanceof Tensor && shape !== undefined)
      throw new ArgumentError("lazy", "a tensor alone, which has a shape", "a tensor and a shape", "reshape it");
    const tensor = source instanceof Tensor ? source : this.tensor(source, shape, dtype);
    return new LazyCore(this, tensor.spec, { tensor }) as LazyTensor;
  }

  /** Computes a chain of a lazy tensor on the backend that {@link select} names for it; its plan is kept. */
  async runLazy({ key, tensors, record }: Chain): Promise<Tensor> {
    this.#requireAlive();
    let recorded: ProgramGraph | undefined;
    const program = (): ProgramGraph => {
      recorded ??= record();
      return recorded;
    };
    const homes = Object.fromEntries(tensors.map(({ device }, i) => [String(i), device]));
    const inputs = Object.fromEntries(tensors.map((tensor, i) => [String(i), tensor]));
    const request: Request = {
      key: `lazy ${key} ${Object.values(homes).join(" ")}`,
      planKey: `lazy ${key}`,
      op: "lazy",
      selectAmong: (candidates) => selectForProgram(program(), candidates, this.#thresholds, this.#policy, homes),
    };
    return this.#fallback.run(request, async ({ selection: { backend }, tally, planKey }) => {
      const plan = await this.#plans.get(planKey, program, (graph) => backend.compile(graph));
      return this.#settled(tally, backend, tensors, () => plan.run(inputs).y!);
    });
  }

  /** What the cache of calls and lazy chains holds and has done. */
  get planCache(): PlanCacheStats {
    return this.#plans.stats;
  }

  /** Which backend a program would be compiled on, and why. @throws {UnsupportedError} */
  select(program: ProgramGraph): Selection {
    this.#requireAlive();
    check("select", "program", program, programGraph, "record one with createProgram()");
    return selectForProgram(program, this.#fallback.eligible, this.#thresholds, this.#policy);
  }

  /**
   * Compiles a program on the backend that {@link select} names, or with `shareWith` where that plan was compiled. With a
   * `placement`, persistents live on the backends that it names (others where `select` says), and the program is cut where they
   * change: `program.explain({ placement, backends })` lists the parts.
   * @throws {UnsupportedError | ArgumentError | DisposedError}
   */
  async compile(program: ProgramGraph, options: RuntimeCompileOptions = {}): Promise<Plan & { readonly selection: Selection }> {
    this.#requireAlive();
    const { placement, ...rest } = check("compile", "options", options, object);
    const { shareWith } = compileOptions(program, rest);
    if (placement !== undefined) return this.#compilePlaced(program, placement, rest);
    if (isSplit(shareWith)) {
      const { compilePlaced } = await import("./splitPlan.ts");
      const names = Object.entries(shareWith.placement).filter(([name]) => program.persistents.has(name));
      const plan = await compilePlaced(program, Object.fromEntries(names), shareWith.backends, { ...rest, shareWith });
      return this.#counted(plan, { backend: shareWith.backends[0]!, reason: "placed as what it shares", rejected: [] });
    }
    const shared = (shareWith as { readonly selection?: Selection } | undefined)?.selection;
    if (shared !== undefined) return this.#counted(await shared.backend.compile(program, rest), shared);
    return this.#compileAmong(this.#fallback.eligible, program, rest);
  }

  /**
   * Where a call would run and why, without running it: `runtime.explain("matmul", [{ dtype: "f32", shape: [512, 512] }, …])`. `homes` are
   * those of the inputs ("host" where left out). {@link formatExplanation} prints it.
   * @throws {ShapeError | DTypeError | ArgumentError} as the op itself
   */
  explain(
    op: OpName | AnyOp,
    inputs: readonly (ConcreteSpec | undefined)[],
    params: object = {},
    options: { readonly homes?: readonly (string | undefined)[]; readonly sync?: boolean } = {},
  ): Explanation {
    this.#requireAlive();
    const known = (typeof op === "string" && Object.hasOwn(ops, op) ? ops[op] : op) as AnyOp;
    check("explain", "op", known, nameOrDefinition, 'pass e.g. "matmul"');
    const { homes = [], sync = false } = checkOptions("explain", options, { homes: list, sync: boolean });
    requireInputs(known, inputs);
    const request = { ...callRequest(known, inputs, completeParams(known, params), homes), sync };
    return explainRequest(request, this.#fallback.eligible, this.#thresholds, this.#policy);
  }

  /** Which op ran where, how often, how long, and why. {@link formatReport} prints it. */
  report(): RuntimeReport {
    return this.#log.report(this.#fallback.eligible);
  }

  /** Measures on this machine from how much work on each open backend is worth its fixed costs: see {@link calibrate}. */
  async calibrate(options: CalibrationOptions): Promise<Calibration> {
    this.#requireAlive();
    const { calibrate } = await import("./calibrate.ts");
    return calibrate(this.backends, options);
  }

  /** One op at once: selects a backend, compiles the one-op program (cached) and runs it. */
  async call(op: AnyOp, inputs: readonly (Tensor | undefined)[], given: object): Promise<Tensor> {
    this.#requireAlive();
    check("call", "op", op, opDefinition);
    const { params, key, homes } = checkCall(op, inputs, given);
    const selectAmong = (candidates: readonly Candidate[]): Selection => this.#select(op, inputs, params, candidates, false);
    return this.#fallback.run(
      { key: `${key} ${homes}`, planKey: key, op: op.name, selectAmong },
      async ({ selection: { backend }, tally, planKey }) => {
        const plan = await this.#plans.get(
          planKey,
          () => oneCall(op, inputs, params, "device"),
          (program) => backend.compile(program),
        );
        return this.#settled(tally, backend, inputs, () => plan.run(numbered(inputs, (tensor) => tensor)).y!);
      },
    );
  }

  /** {@link call} within the call: what the methods of {@link sync} do. The inputs' content must be at hand. */
  callSync(op: AnyOp, inputs: readonly (Tensor | undefined)[], given: object): Tensor {
    this.#requireAlive();
    check("callSync", "op", op, opDefinition);
    const { params, key, homes } = checkCall(op, inputs, given);
    const content = numbered(inputs, peek);
    const selectAmong = (candidates: readonly Candidate[]): Selection => this.#select(op, inputs, params, candidates, true);
    const request: Request = { key: `sync ${key} ${homes}`, planKey: `sync ${key}`, op: op.name, selectAmong };
    return this.#fallback.runSync(request, ({ selection: { backend }, tally, planKey }) => {
      const start = performance.now();
      tally.calls++;
      tally.bytesMoved += movedTo(backend.name, inputs);
      try {
        const plan = this.#plans.get(
          planKey,
          () => oneCall(op, inputs, params, "host"),
          (program) => backend.compileSync!(program),
        );
        const { y } = plan.runSync!(content);
        return ownedTensor(plan.program.values[plan.program.outputs[0]!.value]!.spec as ConcreteSpec, y!);
      } finally {
        tally.ms += performance.now() - start;
      }
    });
  }

  /** A call of an op of the user's own, like the op methods: see {@link CustomOp}. */
  custom<P extends object>(op: CustomOp<P>, inputs: readonly Tensor[], params: Partial<NoInfer<P>> = {}): Promise<Tensor> {
    return this.call(customOp(op), inputs, params);
  }

  /** Counts of every open backend, by name. */
  get counters(): Readonly<Record<string, Counters>> {
    return Object.fromEntries(this.backends.map((backend) => [backend.name, backend.counters]));
  }

  /**
   * Frees all resources of the runtime's backends. Runs that were started still complete. Later calls, and later steps of calls in progress,
   * throw a `DisposedError`; `report`, `counters`, `candidates` and `planCache` stay readable.
   */
  async dispose(): Promise<void> {
    this.#disposal ??= this.#dispose();
    await this.#disposal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #dispose(): Promise<void> {
    this.#plans.clear();
    this.#fallback.forget();
    for (const backend of this.backends) await backend.dispose();
  }

  /** @throws {DisposedError} */
  #requireAlive(): void {
    if (this.#disposal !== undefined) throw new DisposedError("runtime");
  }

  /** Compiles on the first backend that accepts the program and whose code can be loaded. */
  async #compileAmong(
    candidates: readonly Candidate[],
    program: ProgramGraph,
    options: CompileOptions,
  ): Promise<Plan & { readonly selection: Selection }> {
    const selection = selectForProgram(program, candidates, this.#thresholds, this.#policy);
    const { backend } = selection;
    try {
      return this.#counted(await backend.compile(program, options), selection);
    } catch (error) {
      if (!(error instanceof NotLoadedError)) throw error;
      return this.#compileAmong(withoutBackend(candidates, backend, error.reason), program, options);
    }
  }

  async #compilePlaced(
    program: ProgramGraph,
    placement: Placement,
    { shareWith, signal }: CompileOptions,
  ): Promise<Plan & { readonly selection: Selection }> {
    if (shareWith !== undefined) throw new ArgumentError("compile", "a placement or shareWith", "both", "compile it without one of them");
    const homes = homesIn(placement);
    const { force } = this.#policy;
    if (force !== undefined && homes.some((home) => home !== force))
      throw new ArgumentError("placement", `${force} alone, which is forced`, homes.join(", "), "force no backend, or place nothing");
    const isPlaced = [...program.persistents.keys()].every((name) => Object.hasOwn(placement, name));
    const first = isPlaced ? this.backends.find(({ name }) => name === homes[0]) : undefined;
    const backend = first ?? this.select(program).backend;
    const others = this.backends.filter((other) => other !== backend);
    const { compilePlaced } = await import("./splitPlan.ts");
    const plan = await compilePlaced(program, placement, [backend, ...others], signal && { signal });
    return this.#counted(plan, { backend, reason: `placed on ${homes.join(", ")}`, rejected: [] });
  }

  #select(op: AnyOp, inputs: readonly (Tensor | undefined)[], params: object, candidates: readonly Candidate[], sync: boolean): Selection {
    const specs = inputs.map((tensor) => tensor?.spec);
    const homes = inputs.map((tensor) => tensor?.device);
    return choose({ ...callRequest(op, specs, params, homes), sync }, candidates, this.#thresholds, this.#policy);
  }

  /** Adds the selection to a plan, and its runs to the report. */
  #counted(plan: Plan, selection: Selection): Plan & { readonly selection: Selection } {
    const tally = this.#log.tallyOf("program", selection);
    const run = counted(tally, plan.run.bind(plan));
    const runSync = plan.runSync && counted(tally, plan.runSync.bind(plan));
    return Object.assign(plan, { selection, run, ...(runSync && { runSync }) });
  }

  /** Runs and counts. With "retry" and with `trace` the result is there when it returns. */
  async #settled(tally: Tally, backend: Backend, inputs: readonly (Tensor | undefined)[], run: () => Tensor): Promise<Tensor> {
    const start = performance.now();
    tally.calls++;
    tally.bytesMoved += movedTo(backend.name, inputs);
    let y: Tensor | undefined;
    try {
      y = run();
      if (this.#policy.fallback === "retry" || this.#policy.trace === true) await y.ready();
      return y;
    } catch (error) {
      y?.dispose();
      throw error;
    } finally {
      tally.ms += performance.now() - start;
    }
  }
}

/** Detected by its properties, because the class is loaded only when a program is first placed. */
function isSplit(plan: Plan | undefined): plan is SplitPlan {
  return plan !== undefined && "planOf" in plan;
}
