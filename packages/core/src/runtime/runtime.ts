import { boolean, check, checkOptions, elementAt, kind, list, object } from "@centella/quant/checks";
import type { Backend, CompileOptions, Counters, Plan } from "../backend/backend.ts";
import type { DType } from "../dtype.ts";
import { ArgumentError, NotLoadedError } from "../errors.ts";
import { compileOptions, opDefinition, programGraph } from "../kinds.ts";
import { storedData, type TensorData } from "../numbers.ts";
import { type OpName, ops } from "../ops/index.ts";
import { type CustomOp, customOp } from "../program/custom.ts";
import type { AnyOp } from "../program/op.ts";
import type { OpMethods } from "../program/opMethods.ts";
import { completeParams, opMethods, requireInputs } from "../program/program.ts";
import type { ProgramGraph } from "../program/programGraph.ts";
import type { ConcreteSpec } from "../spec.ts";
import { ownedTensor, Tensor } from "../tensor.ts";
import type { Calibration, CalibrationOptions } from "./calibrate.ts";
import { counted, type RuntimeReport } from "./callLog.ts";
import type { Engine } from "./engine.ts";
import { type Explanation, explainRequest } from "./explanation.ts";
import { withoutBackend } from "./fallback.ts";
import { LazyCore, type LazyTensor } from "./lazy.ts";
import { devicesIn, type Placement } from "./placement.ts";
import type { PlanCacheStats } from "./planCache.ts";
import { type Candidate, callRequest, type Selection, selectForProgram } from "./select.ts";
import type { SplitPlan } from "./splitPlan.ts";

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
  /** The backends that were asked for, in order of preference: open ones, and the others with the reason why they are not. */
  readonly candidates: readonly Candidate[];
  /**
   * The ops as plain calls: `runtime.sync.matmul(a, b)` computes before it returns, on a backend that can (`syncAvailable`) and
   * has no awaited work in progress. The result is in host memory: `dataSync()`.
   */
  readonly sync: OpMethods<Tensor, Tensor>;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.candidates = engine.candidates;
    this.sync = opMethods<Tensor, Tensor>((op, inputs, params) => engine.callSync(op, inputs, params));
  }

  /** The open backends in order of preference. */
  get backends(): readonly Backend[] {
    return this.#engine.backends;
  }

  /**
   * A tensor in host memory: `runtime.tensor([[1, 2], [3, 4]])`. `data` is one of
   * - numbers in nested lists, which give the shape, or in one flat list. The dtype is f32 unless given; it may be i32, u32, i8, u8 or bool.
   * - the stored form of the elements, which is copied. Without `shape` the tensor has one axis; without `dtype` it is the array's.
   * @throws {ShapeError | DTypeError} naming the index of the first element that does not fit
   */
  tensor(data: TensorData, shape?: readonly number[], dtype?: DType): Tensor {
    this.#engine.requireAlive();
    const [spec, stored] = storedData("tensor", data, shape, dtype);
    return ownedTensor(spec, stored === data ? stored.slice() : stored);
  }

  /**
   * A tensor whose ops record instead of computing: `await a.matmul(b).add(c).relu().data()` is one run. `source` is
   * what {@link tensor} accepts, or a tensor of any backend, which must live until the chain is computed.
   */
  lazy(source: TensorData | Tensor, shape?: readonly number[], dtype?: DType): LazyTensor {
    this.#engine.requireAlive();
    if (source instanceof Tensor && shape !== undefined)
      throw new ArgumentError("lazy", "a tensor alone, which has a shape", "a tensor and a shape", "reshape it");
    const tensor = source instanceof Tensor ? source : this.tensor(source, shape, dtype);
    return new LazyCore(this.#engine, tensor.spec, { tensor }) as LazyTensor;
  }

  /** What the cache of calls and lazy chains holds and has done. */
  get planCache(): PlanCacheStats {
    return this.#engine.plans.stats;
  }

  /** Which backend a program would be compiled on, and why. @throws {UnsupportedError} */
  select(program: ProgramGraph): Selection {
    this.#engine.requireAlive();
    check("select", "program", program, programGraph, "record one with createProgram()");
    return selectForProgram(program, this.#engine.fallback.eligible, this.#engine.policy);
  }

  /**
   * Compiles a program on the backend that {@link select} names, or with `shareWith` where that plan was compiled. With a
   * `placement`, persistents live on the backends that it names (others where `select` says), and the program is cut where they
   * change: `program.explain({ placement, backends })` lists the parts.
   * @throws {UnsupportedError | ArgumentError | DisposedError}
   */
  async compile(program: ProgramGraph, options: RuntimeCompileOptions = {}): Promise<Plan & { readonly selection: Selection }> {
    this.#engine.requireAlive();
    const { placement, ...rest } = check("compile", "options", options, object);
    const { shareWith } = compileOptions(program, rest);
    if (placement !== undefined) return this.#compilePlaced(program, placement, rest);
    if (isSplit(shareWith)) {
      const { compilePlaced } = await import("./splitPlan.ts");
      const names = Object.entries(shareWith.placement).filter(([name]) => program.persistents.has(name));
      const plan = await compilePlaced(program, Object.fromEntries(names), shareWith.backends, { ...rest, shareWith });
      return this.#counted(plan, { backend: elementAt(shareWith.backends, 0), reason: "placed as what it shares", rejected: [] });
    }
    const shared = (shareWith as { readonly selection?: Selection } | undefined)?.selection;
    if (shared !== undefined) return this.#counted(await shared.backend.compile(program, rest), shared);
    return this.#compileAmong(this.#engine.fallback.eligible, program, rest);
  }

  /**
   * Where a call would run and why, without running it: `runtime.explain("matmul", [{ dtype: "f32", shape: [512, 512] }, …])`. `devices` says
   * where each input is stored ("host" where left out). {@link formatExplanation} prints it.
   * @throws {ShapeError | DTypeError | ArgumentError} as the op itself
   */
  explain(
    op: OpName | AnyOp,
    inputs: readonly (ConcreteSpec | undefined)[],
    params: object = {},
    options: { readonly devices?: readonly (string | undefined)[]; readonly sync?: boolean } = {},
  ): Explanation {
    this.#engine.requireAlive();
    const known = (typeof op === "string" && Object.hasOwn(ops, op) ? ops[op] : op) as AnyOp;
    check("explain", "op", known, nameOrDefinition, 'pass e.g. "matmul"');
    const { devices = [], sync = false } = checkOptions("explain", options, { devices: list, sync: boolean });
    requireInputs(known, inputs);
    const request = { ...callRequest(known, inputs, completeParams(known, params), devices), sync };
    return explainRequest(request, this.#engine.fallback.eligible, this.#engine.policy);
  }

  /** Which op ran where, how often, how long, and why. {@link formatReport} prints it. */
  report(): RuntimeReport {
    return this.#engine.log.report(this.#engine.fallback.eligible);
  }

  /** Measures on this machine from how much work on each open backend is worth its fixed costs: see {@link calibrate}. */
  async calibrate(options: CalibrationOptions): Promise<Calibration> {
    this.#engine.requireAlive();
    const { calibrate } = await import("./calibrate.ts");
    return calibrate(this.backends, options);
  }

  /** Calls a custom op, as the op methods call built-in ops: see {@link CustomOp}. */
  custom<P extends object>(op: CustomOp<P>, inputs: readonly Tensor[], params: Partial<NoInfer<P>> = {}): Promise<Tensor> {
    return this.#engine.call(customOp(op), inputs, params);
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
    await this.#engine.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  /** Compiles on the first backend that accepts the program and whose code can be loaded. */
  async #compileAmong(
    candidates: readonly Candidate[],
    program: ProgramGraph,
    options: CompileOptions,
  ): Promise<Plan & { readonly selection: Selection }> {
    const selection = selectForProgram(program, candidates, this.#engine.policy);
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
    { shareWith, ...options }: CompileOptions,
  ): Promise<Plan & { readonly selection: Selection }> {
    if (shareWith !== undefined) throw new ArgumentError("compile", "a placement or shareWith", "both", "compile it without one of them");
    const devices = devicesIn(placement);
    const { force } = this.#engine.policy;
    if (force !== undefined && devices.some((device) => device !== force))
      throw new ArgumentError("placement", `${force} alone, which is forced`, devices.join(", "), "force no backend, or place nothing");
    const isPlaced = [...program.persistents.keys()].every((name) => Object.hasOwn(placement, name));
    const first = isPlaced ? this.backends.find(({ name }) => name === devices[0]) : undefined;
    const backend = first ?? this.select(program).backend;
    const others = this.backends.filter((other) => other !== backend);
    const { compilePlaced } = await import("./splitPlan.ts");
    const plan = await compilePlaced(program, placement, [backend, ...others], options);
    return this.#counted(plan, { backend, reason: `placed on ${devices.join(", ")}`, rejected: [] });
  }

  /** Adds the selection to a plan, and its runs to the report. */
  #counted(plan: Plan, selection: Selection): Plan & { readonly selection: Selection } {
    const tally = this.#engine.log.tallyOf("program", selection);
    const run = counted(tally, plan.run.bind(plan));
    const runSync = plan.runSync && counted(tally, plan.runSync.bind(plan));
    return Object.assign(plan, { selection, run, ...(runSync && { runSync }) });
  }
}

/** Detected by its properties, because the class is loaded only when a program is first placed. */
function isSplit(plan: Plan | undefined): plan is SplitPlan {
  return plan !== undefined && "planOf" in plan;
}
