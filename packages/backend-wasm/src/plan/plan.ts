import { type InputData, type RunOptions, Tensor, type TypedArray, UnsupportedError } from "@centella/core";
import {
  type Binding,
  countStep,
  entryOf,
  type Operand,
  PlanBase,
  resolveSpec,
  type StepTime,
  type Storage,
  type TensorStorage,
} from "@centella/core/backend";
import type { Run } from "../kernel.ts";
import type { PlanLinker } from "../linking/planLinker.ts";
import type { MemoryInstance } from "../memory/memoryInstance.ts";
import type { WasmPersistentBuffer } from "../memory/persistentBuffer.ts";
import type { PlanMemory } from "../memory/planMemory.ts";
import { readStored, WasmStorage } from "../memory/tensors.ts";
import { directOutputs } from "./directOutputs.ts";
import type { PlanParts } from "./planBuild.ts";
import type { WasmPlanOwner } from "./planOwner.ts";
import { type RunContext, runList, runListSync } from "./runner.ts";
import { type ResultsOf, RunResults } from "./runResults.ts";
import { type PlacedRun, PlanVariants } from "./variants.ts";

/** Completion of runs that finish before their results are returned. */
const finished = Promise.resolve();

/**
 * Longest run, by its estimate in ms, that does not wait for threads that are starting, which takes 30 ms or more. Products of blocks take a
 * third of their estimate.
 */
const aloneMs = 100;

/** An input of a queued run, safe from changes by the caller until the run is over. */
type HeldInput = TypedArray | WasmStorage | Promise<TypedArray>;

/** A program on the WASM backend. */
export class WasmPlan extends PlanBase<WasmPersistentBuffer> {
  readonly instance: MemoryInstance;
  readonly #backend: WasmPlanOwner;
  /** Where the inputs that are used are stored, by name. */
  readonly #inputStorages: ReadonlyMap<string, Storage>;
  readonly #results: ResultsOf;
  readonly #module: PlanLinker;
  readonly #variants: PlanVariants;
  /** Context of runs on the caller's thread. */
  readonly #alone: RunContext;
  readonly #memory: PlanMemory;
  readonly #owned: readonly number[];
  /** Whether there was a run that several threads compute faster. */
  #hasRun = false;
  /** Why threads that were asked for cannot start. */
  #refusal: UnsupportedError | undefined;

  constructor(backend: WasmPlanOwner, { instance, lowered, persistents, tasks, module, memory, owned }: PlanParts) {
    super(backend, lowered, persistents);
    this.#backend = backend;
    this.instance = instance;
    this.#module = module;
    this.#memory = memory;
    this.#owned = owned;
    this.#inputStorages = new Map(
      lowered.storages.flatMap((storage) => (storage.definition.kind === "input" ? [[storage.definition.name, storage] as const] : [])),
    );
    this.#variants = new PlanVariants(instance, lowered, tasks);
    this.#results = { heap: instance.heap, outputs: lowered.outputs, direct: backend.checkWrites ? [] : directOutputs(lowered) };
    this.#alone = {
      memory: instance.memory,
      baseModule: instance.baseModule,
      pool: undefined,
      onThreadLost: () => backend.pool?.markLost(),
      tasks,
      eventLoop: backend.eventLoop,
      onStep: (index) => {
        const step = lowered.steps[index];
        if (step !== undefined) countStep(backend.counters, step);
      },
    };
    instance.retain();
  }

  /** Makes the plan's functions ready on this thread. */
  async loadFunctions(): Promise<void> {
    await Promise.all([this.instance.load(), this.#module.load()]);
  }

  /** {@link loadFunctions} within the call. */
  loadFunctionsSync(): void {
    this.instance.loadSync();
    this.#module.loadSync();
  }

  /** Makes the plan's functions ready on every thread. */
  async shareFunctions(): Promise<void> {
    await Promise.all([this.instance.share(), this.#module.share()]);
  }

  protected override start(binding: Binding, signal: AbortSignal | undefined): Record<string, Tensor> {
    return (signal === undefined ? this.#runAtOnce(binding) : undefined) ?? this.#queueRun(binding, signal);
  }

  /** Computes a short run within the call if nothing has to be waited for: queueing it would take longer than computing it. */
  #runAtOnce(binding: Binding): Record<string, Tensor> | undefined {
    if (!this.#variants.areShort || this.#backend.isBusy || this.#backend.eventLoop.isDue) return undefined;
    const overrides = new Map<Storage, number>();
    for (const [name, { data }] of binding.inputs) {
      const content = this.#available(data);
      if (content === undefined) return undefined;
      this.#bindInput(name, content, overrides);
    }
    const results = new RunResults(this.#results, binding.dims);
    try {
      results.place(overrides);
      const run = this.#newRun(binding, overrides);
      runListSync(this.#variants.of(binding.dims, run).list, run, this.#alone);
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
    const results = new RunResults(this.#results, binding.dims);
    const done = this.#enqueue(binding, async (overrides) => {
      try {
        results.place(overrides);
        const run = this.#newRun(binding, overrides);
        const variant = await this.#variants.yielding(binding.dims, run, this.#backend.eventLoop, signal);
        await this.instance.load();
        const { isShared, record } = this.#variants.choose(binding.dims, variant, false);
        if (isShared) await this.#callThreads(variant.ms);
        const context = this.#runContext(isShared);
        const start = performance.now();
        await runList(variant.list, run, context, signal);
        if (isShared === (context.pool !== undefined)) record?.(performance.now() - start);
        this.#finish(results, run);
      } finally {
        results.release();
      }
    });
    done.catch(() => undefined);
    return results.handles(done);
  }

  /** Runs `work` when its turn comes, on the inputs of the call, and gives it the addresses of the inputs that are tensors of this backend. */
  #enqueue<T>({ inputs }: Binding, work: (overrides: Map<Storage, number>) => Promise<T>): Promise<T> {
    const held = new Map([...inputs].map(([name, { data }]) => [name, this.#hold(data)]));
    return this.#backend.enqueue(async () => {
      try {
        return await work(await this.#bindInputs(held));
      } finally {
        for (const input of held.values()) if (input instanceof WasmStorage) input.release();
      }
    });
  }

  protected override timeSteps(binding: Binding, perStep: boolean, signal: AbortSignal | undefined): Promise<readonly StepTime[]> {
    return this.#enqueue(binding, async (overrides) => {
      const { timeRun, timeSteps } = await import("./timeSteps.ts");
      const run = this.#newRun(binding, overrides);
      const { list } = this.#variants.of(binding.dims, run);
      await this.#callThreads(Infinity);
      const context = this.#runContext(true);
      const times = perStep ? await timeSteps(run, context, signal) : await timeRun(list, run, context, signal);
      this.#checkWrites();
      this.#backend.counters.submits++;
      return times;
    });
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    const binding = this.bindSync(inputs, options);
    const run = this.#newRun(binding, new Map());
    for (const [name, data] of Object.entries(inputs)) this.#copyIn(name, data);
    const variant = this.#variants.of(binding.dims, run);
    this.instance.loadSync();
    const { isShared, record } = this.#variants.choose(binding.dims, variant, true);
    if (isShared) this.#callThreads(variant.ms).catch(() => undefined);
    const context = this.#runContext(isShared);
    const start = record === undefined ? 0 : performance.now();
    runListSync(variant.list, run, context);
    if (isShared === (context.pool !== undefined)) record?.(performance.now() - start);
    this.#checkWrites();
    const { counters } = this.#backend;
    counters.submits++;
    const results: Record<string, TypedArray> = {};
    for (const { name, operand } of this.lowered.outputs) {
      results[name] = readStored(this.instance.heap, resolveSpec(operand.spec, binding.dims), run.address(operand));
      counters.readbacks++;
    }
    return results;
  }

  protected override free(): void {
    for (const address of this.#owned) this.instance.heap.free(address);
    this.#variants.free();
    this.#module.dispose();
    this.#backend.leave(this.instance);
  }

  #checkWrites(): void {
    this.#memory.guards?.check(this.lowered.steps.map(({ op }) => op.name));
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

  /** Waits for the inputs and copies them to where the steps read them. Returns the addresses of those that are tensors of this backend. */
  async #bindInputs(held: ReadonlyMap<string, HeldInput>): Promise<Map<Storage, number>> {
    const overrides = new Map<Storage, number>();
    for (const [name, input] of held) {
      if (input instanceof WasmStorage) await input.ready();
      this.#bindInput(name, await input, overrides);
    }
    return overrides;
  }

  /** Returns an input's content if nothing has to be waited for. */
  #available(data: InputData): TypedArray | WasmStorage | undefined {
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
    this.instance.heap.u8.set(bytes, this.#addressOf(storage));
    this.#backend.counters.uploads++;
  }

  #addressOf(storage: Storage): number {
    return entryOf(this.#memory.addresses, storage);
  }

  #newRun({ dims }: Binding, overrides: ReadonlyMap<Storage, number>): PlacedRun {
    const { scratch } = this.#memory;
    const shapes = new Map<Operand, readonly number[]>();
    return {
      overrides,
      scratch,
      address: ({ storage }) => overrides.get(storage) ?? this.#addressOf(storage),
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

  /**
   * Makes the functions ready on the other threads for runs like this one, of about `ms`. Long runs wait for threads that are starting. A first
   * run that is not long does without them, because they take cores from it meanwhile.
   * @throws {UnsupportedError} if threads that were asked for cannot start, once that is known
   */
  async #callThreads(ms: number): Promise<void> {
    if (this.#isShared) return;
    const waits = ms > aloneMs || this.instance.isSharing;
    if (waits || this.#hasRun) {
      // If the pool is lost, this thread computes alone.
      const sharing = this.shareFunctions().catch((error: unknown) => {
        if (error instanceof UnsupportedError) this.#refusal = error;
      });
      if (waits) await sharing;
    }
    this.#hasRun = true;
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** Whether every thread has the functions. */
  get #isShared(): boolean {
    return this.instance.isShared && this.#module.isShared;
  }

  #runContext(isShared: boolean): RunContext {
    const { pool } = this.#backend;
    return isShared && pool !== undefined && this.#isShared ? { ...this.#alone, pool } : this.#alone;
  }
}
