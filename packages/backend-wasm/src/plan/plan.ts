import {
  DisposedError,
  type InputData,
  type LoadOptions,
  type Plan,
  ProgramError,
  type RunOptions,
  Tensor,
  type TensorSource,
  type TypedArray,
} from "@centella/core";
import {
  type Binding,
  bind,
  byteLength,
  type CompileOptions,
  countOp,
  type FusedParams,
  heldWeightsWarnings,
  isFused,
  type Lowered,
  lower as lowerProgram,
  maxSpec,
  type Operand,
  type ProgramGraph,
  requireArrays,
  requireLoadable,
  requireLoaded,
  requirePersistent,
  resolveSpec,
  runOptions,
  type Storage,
  type TensorStorage,
} from "@centella/core/backend";
import type { BuildContext, Run, Task } from "../kernel.ts";
import { isLazy } from "../kernels/lazy/lazyKernels.ts";
import { kernelOf } from "../linking/baseModule.ts";
import type { PlanLinker } from "../linking/planLinker.ts";
import type { MemoryInstance } from "../memory/memoryInstance.ts";
import type { PersistentBuffer } from "../memory/persistents.ts";
import { type PlanMemory, placePlan } from "../memory/planMemory.ts";
import { planPersistents } from "../memory/planPersistents.ts";
import { readStored, WasmStorage } from "../memory/tensors.ts";
import { directOutputs } from "./directOutputs.ts";
import { type PlacedRun, PlannedRuns } from "./plannedRuns.ts";
import type { PlanOwner } from "./planOwner.ts";
import { type RunContext, runList, runListSync } from "./runner.ts";
import { type ResultsOf, RunResults } from "./runResults.ts";

/** Of runs that are over when their results are handed out. */
const finished = Promise.resolve();

/** A run's inputs, safe from changes by the caller until the run is over. */
type HeldInput = TypedArray | WasmStorage | Promise<TypedArray>;

export class WasmPlan implements Plan {
  readonly warnings: readonly string[];
  readonly persistents: ReadonlyMap<string, PersistentBuffer>;
  readonly instance: MemoryInstance;
  readonly #backend: PlanOwner;
  readonly #lowered: Lowered;
  /** Where inputs that are used lie, by name. */
  readonly #inputStorages: ReadonlyMap<string, Storage>;
  readonly #results: ResultsOf;
  readonly #tasks: readonly Task[];
  readonly #module: PlanLinker;
  readonly #runs: PlannedRuns;
  /** What runs on the caller's thread are given. */
  readonly #alone: RunContext;
  readonly #memory: PlanMemory;
  readonly #owned: readonly number[];
  #disposed = false;

  constructor(
    backend: PlanOwner,
    instance: MemoryInstance,
    program: ProgramGraph,
    { shareWith, sharedBy = [] }: Pick<CompileOptions, "shareWith" | "sharedBy">,
  ) {
    this.#backend = backend;
    this.instance = instance;
    const lower = (graph: ProgramGraph): Lowered => lowerProgram(graph, backend.name, (...call) => backend.unsupported(...call), backend);
    const lowered = lower(program);
    const all = [lowered, ...sharedBy.map(lower)];
    const sharedPersistents = shareWith instanceof WasmPlan ? shareWith.persistents : undefined;
    this.#lowered = lowered;
    this.#inputStorages = new Map(
      lowered.storages.flatMap((storage) => (storage.definition.kind === "input" ? [[storage.definition.name, storage] as const] : [])),
    );
    this.persistents = planPersistents(instance.heap, lowered, all, sharedPersistents);
    const converted = lowered.persistents.map(({ name }) => this.persistents.get(name)!).filter(({ isConverted }) => isConverted);
    this.warnings = heldWeightsWarnings(
      "wasm",
      "8-bit integers with f32 scales",
      converted.map(({ bytes, persistent: { spec } }) => ({ dtype: spec.dtype, storedBytes: byteLength(spec), heldBytes: bytes })),
    );

    let scratchBytes = 0;
    const shared = new Map<string, unknown>();
    const tables: { readonly bytes: number; readonly write: ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined; address: number }[] =
      [];
    this.#module = backend.planLinker(instance);
    const context: BuildContext = {
      exports: (name) => instance.exports(name),
      include: (emit) => instance.include({ emit }),
      heap: instance.heap,
      target: backend.target,
      threads: backend.pool?.size ?? 1,
      maxThreads: instance.memory.maxThreads,
      max: ({ spec }) => maxSpec(spec),
      interleaving: ({ storage: { definition } }) =>
        definition.kind === "persistent" ? this.persistents.get(definition.name)!.interleaving : undefined,
      isPacked: ({ storage: { definition } }) => definition.kind === "persistent" && this.persistents.get(definition.name)!.isPacked,
      reserve: (bytes) => {
        scratchBytes = Math.max(scratchBytes, bytes);
      },
      table: (bytes, write) => {
        const table = { bytes, write, address: 0 };
        tables.push(table);
        return () => table.address;
      },
      emit: (key, define) => this.#module.emit(key, define),
      shared<T>(key: string, create: () => T): T {
        if (!shared.has(key)) shared.set(key, create());
        return shared.get(key) as T;
      },
    };
    this.#tasks = lowered.steps.map(({ op, inputs, params, output, extraOutputs }) => {
      const kernel = (instance.custom.get(op) ?? kernelOf(op))!;
      for (const used of isFused(op) ? (params as FusedParams).body.map((call) => call.op) : [op])
        if (isLazy(used)) instance.include(kernelOf(used)!);
      return kernel.build(context, inputs, params, output, extraOutputs);
    });
    this.#runs = new PlannedRuns(instance.memory, lowered, this.#tasks);
    this.#results = { heap: instance.heap, outputs: lowered.outputs, direct: backend.checkWrites ? [] : directOutputs(lowered) };
    this.#alone = {
      memory: instance.memory,
      baseModule: instance.baseModule,
      pool: undefined,
      onThreadLost: () => backend.pool?.markLost(),
      tasks: this.#tasks,
      eventLoop: backend.eventLoop,
      onStep: (step) => countOp(backend.counters, lowered.steps[step]!.op.name),
    };

    const owned: number[] = [];
    try {
      this.#memory = placePlan(
        instance.heap,
        { lowered, persistents: this.persistents, scratchBytes, checkWrites: backend.checkWrites },
        owned,
      );
      for (const table of tables) {
        table.address = instance.heap.allocZeroed(table.bytes, "arenas");
        owned.push(table.address);
        if (table.write === undefined) continue;
        const bytes = new Uint8Array(table.bytes);
        table.write(bytes);
        instance.heap.u8.set(bytes, table.address);
      }
    } catch (error) {
      for (const address of owned) instance.heap.free(address);
      this.#module.dispose();
      throw error;
    }
    for (const persistent of this.persistents.values()) persistent.retain();
    instance.retain();
    this.#owned = owned;
  }

  /** Makes the functions that were emitted for this plan ready on every thread. */
  async link(): Promise<void> {
    await Promise.all([this.instance.link(), this.#module.link()]);
  }

  /** {@link link} within the call. */
  linkSync(): void {
    this.instance.linkSync();
    this.#module.linkSync();
  }

  get program(): ProgramGraph {
    return this.#lowered.program;
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    this.#requireAlive();
    requireLoadable(this.program, name, source, options);
    await this.#backend.enqueue(() => this.persistents.get(name)!.load(source, options));
  }

  async save(name: string): Promise<TypedArray> {
    this.#requireAlive();
    requirePersistent(this.program, name);
    return this.#backend.enqueue(() => this.persistents.get(name)!.save());
  }

  reset(name: string): void {
    this.#requireAlive();
    const { init } = requirePersistent(this.program, name);
    const persistent = this.persistents.get(name)!;
    if (init !== "zeros") persistent.reset();
    void this.#backend.enqueue(() => persistent.reset());
  }

  run(inputs: Readonly<Record<string, InputData>>, options: RunOptions = {}): Record<string, Tensor> {
    const { dims: explicit, signal } = runOptions(options);
    this.#requireAlive();
    signal?.throwIfAborted();
    this.#requireLoaded();
    const binding = bind(this.program, inputs, explicit);
    return (signal === undefined ? this.#runAtOnce(binding) : undefined) ?? this.#queueRun(binding, signal);
  }

  /** Computes a short run within the call if nothing has to be waited for: to queue it would take longer than to compute it. */
  #runAtOnce(binding: Binding): Record<string, Tensor> | undefined {
    if (!this.#runs.areShort || this.#backend.isBusy || this.#backend.eventLoop.isDue) return undefined;
    const overrides = new Map<Storage, number>();
    for (const [name, { data }] of binding.inputs) {
      const content = this.#atHand(data);
      if (content === undefined) return undefined;
      this.#bindInput(name, content, overrides);
    }
    const results = new RunResults(this.#results, binding.dims);
    try {
      results.place(overrides);
      const run = this.#newRun(binding, overrides);
      runListSync(this.#runs.of(binding.dims, run).list, run, this.#alone);
      const handles = results.handles(finished);
      this.#finish(results, run);
      return handles;
    } catch (error) {
      results.release();
      const failed = Promise.reject(error);
      failed.catch(() => undefined);
      return new RunResults(this.#results, binding.dims).handles(failed);
    }
  }

  #queueRun(binding: Binding, signal: AbortSignal | undefined): Record<string, Tensor> {
    const held = new Map([...binding.inputs].map(([name, { data }]) => [name, this.#hold(data)]));
    const results = new RunResults(this.#results, binding.dims);
    const done = this.#backend.enqueue(async () => {
      try {
        const overrides = await this.#bindInputs(held);
        results.place(overrides);
        const run = this.#newRun(binding, overrides);
        const planned = await this.#runs.yielding(binding.dims, run, this.#backend.eventLoop, signal);
        const { isShared, record } = this.#runs.choose(binding.dims, planned, false);
        const start = performance.now();
        await runList(planned.list, run, this.#runContext(isShared), signal);
        record?.(performance.now() - start);
        this.#finish(results, run);
      } finally {
        results.release();
        for (const input of held.values()) if (input instanceof WasmStorage) input.release();
      }
    });
    done.catch(() => undefined);
    return results.handles(done);
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    const { dims: explicit } = runOptions(options);
    requireArrays(inputs);
    this.#requireAlive();
    if (this.#backend.isBusy)
      throw new ProgramError("runSync: expected no work under way on this backend, got a queued run; await backend.idle() first");
    this.#requireLoaded();
    const binding = bind(this.program, inputs, explicit);
    const run = this.#newRun(binding, new Map());
    for (const name in inputs) this.#copyIn(name, inputs[name]!);
    const planned = this.#runs.of(binding.dims, run);
    const { isShared, record } = this.#runs.choose(binding.dims, planned, true);
    const start = record === undefined ? 0 : performance.now();
    runListSync(planned.list, run, this.#runContext(isShared));
    record?.(performance.now() - start);
    this.#checkWrites();
    const { counters } = this.#backend;
    counters.submits++;
    const results: Record<string, TypedArray> = {};
    for (const { name, operand } of this.#lowered.outputs) {
      results[name] = readStored(this.instance.heap, resolveSpec(operand.spec, binding.dims), run.address(operand));
      counters.readbacks++;
    }
    return results;
  }

  /** Frees the memory once the runs that were started are over. Outputs live on. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#backend.plans.delete(this);
    const free = (): void => {
      for (const address of this.#owned) this.instance.heap.free(address);
      this.#runs.free();
      this.#module.dispose();
      for (const persistent of this.persistents.values()) persistent.release();
      this.#backend.leave(this.instance);
    };
    if (!this.#backend.isBusy) free();
    else void this.#backend.enqueue(free);
  }

  #requireAlive(): void {
    this.#backend.requireAlive();
    if (this.#disposed) throw new DisposedError("plan");
  }

  #requireLoaded(): void {
    requireLoaded(this.#lowered, (name) => this.persistents.get(name)!.isLoaded);
  }

  #checkWrites(): void {
    this.#memory.guards?.check(this.#lowered.steps.map(({ op }) => op.name));
  }

  #finish(results: RunResults, run: Run): void {
    this.#checkWrites();
    const { counters } = this.#backend;
    counters.submits++;
    counters.readbacks += results.collect(run);
  }

  #isOwn(storage: TensorStorage): storage is WasmStorage {
    return storage instanceof WasmStorage && storage.heap === this.instance.heap;
  }

  #hold(data: InputData): HeldInput {
    if (!(data instanceof Tensor)) return data.slice();
    const { storage } = data;
    if (this.#isOwn(storage)) {
      storage.retain();
      return storage;
    }
    const copy = data.data();
    copy.catch(() => undefined);
    return copy;
  }

  /** Waits for the inputs and brings them where the steps look for them: addresses of those that are tensors of this backend. */
  async #bindInputs(held: ReadonlyMap<string, HeldInput>): Promise<Map<Storage, number>> {
    const overrides = new Map<Storage, number>();
    for (const [name, input] of held) {
      if (input instanceof WasmStorage) await input.ready();
      this.#bindInput(name, await input, overrides);
    }
    return overrides;
  }

  /** An input's content, if it need not be waited for. */
  #atHand(data: InputData): TypedArray | WasmStorage | undefined {
    if (!(data instanceof Tensor)) return data;
    const { storage } = data;
    if (this.#isOwn(storage)) return storage.isPlaced ? storage : undefined;
    return storage.device === "host" ? storage.peek?.() : undefined;
  }

  #bindInput(name: string, content: TypedArray | WasmStorage, overrides: Map<Storage, number>): void {
    if (!(content instanceof WasmStorage)) this.#copyIn(name, content);
    else {
      const storage = this.#inputStorages.get(name);
      if (storage !== undefined) overrides.set(storage, content.address);
    }
  }

  #copyIn(name: string, data: TypedArray): void {
    const storage = this.#inputStorages.get(name);
    if (storage === undefined) return;
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.instance.heap.u8.set(bytes, this.#memory.addresses.get(storage)!);
    this.#backend.counters.uploads++;
  }

  #newRun({ dims }: Binding, overrides: ReadonlyMap<Storage, number>): PlacedRun {
    const { addresses, scratch } = this.#memory;
    const shapes = new Map<Operand, readonly number[]>();
    return {
      overrides,
      scratch,
      address: ({ storage }) => overrides.get(storage) ?? addresses.get(storage)!,
      shape: (operand) => {
        let shape = shapes.get(operand);
        if (shape === undefined) {
          ({ shape } = resolveSpec(operand.spec, dims));
          shapes.set(operand, shape);
        }
        return shape;
      },
    };
  }

  #runContext(isShared: boolean): RunContext {
    const { pool } = this.#backend;
    return isShared && pool !== undefined && this.instance.isShared && this.#module.isShared ? { ...this.#alone, pool } : this.#alone;
  }
}
