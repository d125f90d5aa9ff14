import type { Counters, InputData, LoadOptions, Plan, RunOptions, TensorSource } from "../backend/backend.ts";
import { bind, requireArrays } from "../backend/bind.ts";
import { decode, encode } from "../backend/decode.ts";
import { hostMemory } from "../backend/hostMemory.ts";
import { countOp, readSource, requireLoadable, requireLoaded, requirePersistent, type WorkQueue } from "../backend/planSupport.ts";
import type { Lowered, Operand, Storage } from "../compiler/lowered.ts";
import { type FusedParams, writtenInput } from "../compiler/passes/fused.ts";
import { decodedArrayOf, isQuantized, type TypedArray, typedArrayOf } from "../dtype.ts";
import { DisposedError, OutOfMemoryError, ProgramError, ShapeError } from "../errors.ts";
import { runOptions } from "../kinds.ts";
import type { HostTensor } from "../program/op.ts";
import type { Persistent, ProgramGraph } from "../program/programGraph.ts";
import { evaluateGroup, referenceOf } from "../references.ts";
import { byteLength, type ConcreteSpec, type DimValues, elementCount, formatSpec, resolveSpec } from "../spec.ts";
import { Tensor } from "../tensor.ts";
import { referenceBytes } from "./referenceMemory.ts";

/** A run's results, once they are there. */
interface Arrived {
  results?: ReadonlyMap<string, TypedArray>;
}

/** A persistent's memory. Shared by plans that were compiled with `shareWith`. */
export interface PersistentBuffer {
  /** Decoded; undefined until it is loaded. */
  data: TypedArray | undefined;
  /** Blocks as they were loaded, until an op writes: not every block type can be encoded again. */
  stored: Uint8Array | undefined;
}

/** The part of a backend that its plans use and account to. */
interface PlanOwner {
  readonly queue: WorkQueue;
  readonly counters: Counters;
  readonly plans: Set<ReferencePlan>;
  /** Bytes of outputs that are not disposed. */
  outputBytes: number;
}

/** A program on the scalar backend, step by step with the ops' own references. */
export class ReferencePlan implements Plan {
  readonly warnings: readonly string[] = [];
  readonly persistents: Map<string, PersistentBuffer> = new Map();
  readonly #backend: PlanOwner;
  readonly #lowered: Lowered;
  #disposed = false;

  constructor(backend: PlanOwner, lowered: Lowered, shareWith: Plan | undefined) {
    this.#backend = backend;
    this.#lowered = lowered;
    const shared = shareWith instanceof ReferencePlan ? shareWith.persistents : new Map<string, PersistentBuffer>();
    const persistents = [...lowered.program.persistents.values()];
    requireMemory(persistents.filter(({ name }) => !shared.has(name)));
    for (const { name, spec, init } of persistents)
      this.persistents.set(name, shared.get(name) ?? { data: init === "zeros" ? zeros(spec) : undefined, stored: undefined });
  }

  get program(): ProgramGraph {
    return this.#lowered.program;
  }

  async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    this.#requireAlive();
    const { spec } = requireLoadable(this.program, name, source, options);
    const { signal, onProgress } = options;
    const cell = this.persistents.get(name)!;
    const bytes = byteLength(spec);
    if (source.size !== bytes)
      throw new ShapeError(`load ${name}`, `a source of ${bytes} bytes for ${formatSpec(spec)}`, `${source.size} bytes`);
    signal?.throwIfAborted();
    const raw = await readSource(name, source, 0, bytes, signal);
    // Not `raw.slice()`: of a Node Buffer that is a view of its whole pool.
    const copy = new Uint8Array(raw);
    await this.#backend.queue.enqueue(() => {
      signal?.throwIfAborted();
      const stored = new (typedArrayOf(spec.dtype))(copy.buffer);
      Object.assign(cell, { data: decode(spec, stored), stored: isQuantized(spec.dtype) ? stored : undefined });
    });
    onProgress?.(bytes, bytes);
  }

  async save(name: string): Promise<TypedArray> {
    const { spec } = this.#persistent(name);
    const cell = this.persistents.get(name)!;
    if (cell.data === undefined) throw new ProgramError(`save: ${name} was not loaded; call plan.load() first`);
    return this.#backend.queue.enqueue(() => (cell.stored ?? encode(spec, cell.data!)).slice());
  }

  reset(name: string): void {
    const { spec, init } = this.#persistent(name);
    if (init !== "zeros") throw new ProgramError(`reset: ${name} is a weight; declare it with init: "zeros", or load it again`);
    void this.#backend.queue.enqueue(() => {
      Object.assign(this.persistents.get(name)!, { data: zeros(spec), stored: undefined });
    });
  }

  run(inputs: Readonly<Record<string, InputData>>, options: RunOptions = {}): Record<string, Tensor> {
    this.#checkRun();
    const { dims: explicit, signal } = runOptions(options);
    signal?.throwIfAborted();
    const { dims, inputs: bound } = bind(this.program, inputs, explicit);
    const copies = [...bound].map(([name, { data }]) => ({
      name,
      data: data instanceof Tensor ? data.data() : Promise.resolve(data.slice()),
    }));
    // A failed input reaches the readers of the outputs, once this run's turn comes.
    for (const { data } of copies) data.catch(() => undefined);
    const results = this.#backend.queue.enqueue(async () => {
      const stored = new Map<string, TypedArray>();
      for (const { name, data } of copies) stored.set(name, await data);
      return this.#execute(stored, dims, signal);
    });
    const arrived: Arrived = {};
    results.then(
      (map) => {
        arrived.results = map;
      },
      () => undefined,
    );
    return Object.fromEntries(
      this.#lowered.outputs.map(({ name, operand }) => [name, this.#pending(resolveSpec(operand.spec, dims), results, arrived, name)]),
    );
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    this.#checkRun();
    const { dims: explicit } = runOptions(options);
    if (this.#backend.queue.busy) throw new ProgramError("runSync: expected no run under way, got some; await backend.idle() first");
    const { dims } = bind(this.program, inputs, explicit);
    requireArrays(inputs);
    const stored = new Map(Object.entries(inputs).map(([name, data]) => [name, data.slice()]));
    return Object.fromEntries(this.#execute(stored, dims, undefined));
  }

  dispose(): void {
    this.#disposed = true;
    this.#backend.plans.delete(this);
    // A disposed handle must not retain the weights, but queued runs still need them.
    const release = (): void => this.persistents.clear();
    if (this.#backend.queue.busy) void this.#backend.queue.enqueue(release);
    else release();
  }

  #requireAlive(): void {
    if (this.#disposed) throw new DisposedError("plan");
  }

  #checkRun(): void {
    this.#requireAlive();
    requireLoaded(this.#lowered, (name) => this.persistents.get(name)!.data !== undefined);
  }

  #persistent(name: string): Persistent {
    this.#requireAlive();
    return requirePersistent(this.program, name);
  }

  #pending(spec: ConcreteSpec, results: Promise<ReadonlyMap<string, TypedArray>>, arrived: Arrived, name: string): Tensor {
    const bytes = byteLength(spec);
    this.#backend.outputBytes += bytes;
    return new Tensor(spec, {
      device: "reference",
      ready: async () => void (await results),
      read: async () => (await results).get(name)!.slice(),
      peek: () => arrived.results?.get(name),
      free: () => {
        this.#backend.outputBytes -= bytes;
      },
    });
  }

  #execute(inputs: ReadonlyMap<string, TypedArray>, dims: DimValues, signal: AbortSignal | undefined): Map<string, TypedArray> {
    const memory = new Map<Storage, TypedArray>();
    const blocks = new Map<Storage, TypedArray>();
    const tensor = ({ spec, storage }: Operand): HostTensor => {
      const concrete = resolveSpec(spec, dims);
      let data = memory.get(storage);
      if (data === undefined) {
        data = this.#initial(storage, concrete, inputs);
        memory.set(storage, data);
      }
      const stored = isQuantized(spec.dtype) ? (blocks.get(storage) ?? this.#stored(storage, concrete, inputs)) : undefined;
      if (stored !== undefined) blocks.set(storage, stored);
      return { spec: concrete, data, ...(stored && { stored }) };
    };
    for (const { op, inputs: operands, params, output, extraOutputs } of this.#lowered.steps) {
      signal?.throwIfAborted();
      const tensors = operands.map((operand) => operand && tensor(operand));
      if (extraOutputs === undefined) referenceOf(op)(tensors, params, tensor(output));
      else evaluateGroup(tensors, params as FusedParams, tensor(output), extraOutputs.map(tensor));
      countOp(this.#backend.counters, op.name);
      if (writtenInput({ op, params }) !== undefined && output.storage.definition.kind === "persistent") {
        this.persistents.get(output.storage.definition.name)!.stored = undefined;
        blocks.delete(output.storage);
      }
    }
    this.#backend.counters.submits++;
    return new Map(
      this.#lowered.outputs.map(({ name, operand }) => {
        const { spec, data, stored } = tensor(operand);
        return [name, (stored ?? encode(spec, data)).slice()];
      }),
    );
  }

  /** Blocks as they came, where no op has written into them; room for those that a node makes. */
  #stored({ definition }: Storage, spec: ConcreteSpec, inputs: ReadonlyMap<string, TypedArray>): TypedArray | undefined {
    switch (definition.kind) {
      case "input":
        return inputs.get(definition.name);
      case "constant":
        return definition.data;
      case "persistent":
        return this.persistents.get(definition.name)!.stored;
      case "node":
        return new Uint8Array(byteLength(spec));
    }
  }

  #initial({ definition }: Storage, spec: ConcreteSpec, inputs: ReadonlyMap<string, TypedArray>): TypedArray {
    switch (definition.kind) {
      case "input":
        return decode(spec, inputs.get(definition.name)!);
      case "constant":
        return decode(spec, definition.data);
      case "persistent":
        return this.persistents.get(definition.name)!.data!;
      case "node":
        return zeros(spec);
    }
  }
}

/**
 * Checks that weights and caches fit before any of them is allocated or read: the platform grants memory that it does not have.
 * @throws {OutOfMemoryError}
 */
function requireMemory(persistents: readonly Persistent[]): void {
  const bytes = persistents.reduce((sum, { spec }) => sum + referenceBytes(spec), 0);
  if (bytes === 0) return;
  const { bytes: free, source } = hostMemory();
  if (bytes > free)
    throw new OutOfMemoryError("reference", bytes, free, `that is ${source}; use a smaller model, a shorter context or another backend`);
}

/** Zeros in decoded form: f16, bf16 and block types are `Float32Array`. */
function zeros({ dtype, shape }: ConcreteSpec): TypedArray {
  const count = elementCount(shape);
  const type = decodedArrayOf(dtype);
  try {
    return new type(count);
  } catch (error) {
    if (error instanceof RangeError) throw new OutOfMemoryError("reference", count * type.BYTES_PER_ELEMENT, undefined, "use less memory");
    throw error;
  }
}
