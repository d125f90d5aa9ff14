import type {
  Backend,
  BackendFactory,
  CompileOptions,
  InputData,
  LoadOptions,
  MemoryReport,
  Plan,
  RunOptions,
  TensorSource,
} from "./backend.ts";
import { bind } from "./bind.ts";
import { decode, encode } from "./decode.ts";
import { type TypedArray, typedArrayOf } from "./dtype.ts";
import { type Lowered, lower, type Operand, type Storage } from "./lower.ts";
import type { HostTensor } from "./op.ts";
import { countOp, createCounters, requireLoaded, requirePersistent, WorkQueue } from "./planSupport.ts";
import type { ProgramGraph } from "./program.ts";
import { byteLength, type ConcreteSpec, type DimValues, elementCount, resolveSpec } from "./spec.ts";
import { hostTensor, Tensor } from "./tensor.ts";

/** The scalar backend: runs every op's own `reference`, slowly and exactly. Not edited when an op is added. */
export function reference(): BackendFactory {
  return { name: "reference", open: async () => new ReferenceBackend() };
}

class ReferenceBackend implements Backend {
  readonly name = "reference";
  readonly device = { kind: "cpu", name: "scalar TypeScript" } as const;
  readonly syncAvailable = true;
  readonly counters = createCounters();
  readonly plans = new Set<ReferencePlan>();
  readonly queue = new WorkQueue();

  unsupported(): undefined {
    return undefined;
  }

  async compile(program: ProgramGraph, { shareWith, signal }: CompileOptions = {}): Promise<Plan> {
    signal?.throwIfAborted();
    const plan = new ReferencePlan(this, lower(program, this.name, this.unsupported), shareWith);
    this.plans.add(plan);
    return plan;
  }

  upload(spec: ConcreteSpec, data: TypedArray): Tensor {
    return hostTensor(spec, data);
  }

  memory(): MemoryReport {
    const persistents = new Set([...this.plans].flatMap((plan) => [...plan.persistents.values()]));
    return { persistents: [...persistents].reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0), arenas: 0, tensors: 0, other: 0 };
  }

  async idle(): Promise<void> {
    await this.queue.idle();
  }

  async dispose(): Promise<void> {
    await this.idle();
    this.plans.clear();
  }
}

/** A persistent's memory, decoded. Shared by plans that were compiled with `shareWith`. */
interface Cell {
  data: TypedArray | undefined;
}

class ReferencePlan implements Plan {
  readonly warnings: readonly string[] = [];
  readonly persistents = new Map<string, Cell>();
  readonly #backend: ReferenceBackend;
  readonly #lowered: Lowered;

  constructor(backend: ReferenceBackend, lowered: Lowered, shareWith: Plan | undefined) {
    this.#backend = backend;
    this.#lowered = lowered;
    for (const { name, spec, init } of lowered.program.persistents.values()) {
      const shared = shareWith instanceof ReferencePlan ? shareWith.persistents.get(name) : undefined;
      this.persistents.set(name, shared ?? { data: init === "zeros" ? zeros(spec) : undefined });
    }
  }

  get program(): ProgramGraph {
    return this.#lowered.program;
  }

  async load(name: string, source: TensorSource, { signal, onProgress }: LoadOptions = {}): Promise<void> {
    const { spec } = requirePersistent(this.program, name);
    const bytes = byteLength(spec);
    const raw = await source.read(0, bytes, signal);
    const stored = new (typedArrayOf(spec.dtype))(raw.slice().buffer);
    await this.#backend.queue.enqueue(async () => {
      this.persistents.get(name)!.data = decode(spec, stored).slice();
    });
    onProgress?.(bytes, bytes);
  }

  async save(name: string): Promise<TypedArray> {
    const { spec } = requirePersistent(this.program, name);
    return this.#backend.queue.enqueue(async () => encode(spec, this.persistents.get(name)!.data!).slice());
  }

  reset(name: string): void {
    const { spec } = requirePersistent(this.program, name);
    void this.#backend.queue.enqueue(async () => {
      this.persistents.get(name)!.data = zeros(spec);
    });
  }

  run(inputs: Readonly<Record<string, InputData>>, { dims: explicit, signal }: RunOptions = {}): Record<string, Tensor> {
    signal?.throwIfAborted();
    requireLoaded(this.#lowered, (name) => this.persistents.get(name)!.data !== undefined);
    const { dims, inputs: bound } = bind(this.program, inputs, explicit);
    const copies = new Map(
      [...bound].map(([name, { data }]) => [name, data instanceof Tensor ? data.data() : Promise.resolve(data.slice())]),
    );
    const results = this.#backend.queue.enqueue(async () => {
      const stored = new Map<string, TypedArray>();
      for (const [name, data] of copies) stored.set(name, await data);
      return this.#execute(stored, dims, signal);
    });
    results.catch(() => undefined);
    return Object.fromEntries(
      this.#lowered.outputs.map(({ name, operand }) => [name, pending(resolveSpec(operand.spec, dims), results, name)]),
    );
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, { dims: explicit }: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    requireLoaded(this.#lowered, (name) => this.persistents.get(name)!.data !== undefined);
    const { dims } = bind(this.program, inputs, explicit);
    return Object.fromEntries(this.#execute(new Map(Object.entries(inputs)), dims, undefined));
  }

  dispose(): void {
    this.#backend.plans.delete(this);
  }

  #execute(inputs: ReadonlyMap<string, TypedArray>, dims: DimValues, signal: AbortSignal | undefined): Map<string, TypedArray> {
    const memory = new Map<Storage, TypedArray>();
    const tensor = ({ spec, storage }: Operand): HostTensor => {
      const concrete = resolveSpec(spec, dims);
      let data = memory.get(storage);
      if (data === undefined) {
        data = this.#initial(storage, concrete, inputs);
        memory.set(storage, data);
      }
      return { spec: concrete, data };
    };
    for (const { op, inputs: operands, params, output } of this.#lowered.steps) {
      signal?.throwIfAborted();
      op.reference(
        operands.map((operand) => operand && tensor(operand)),
        params,
        tensor(output),
      );
      countOp(this.#backend.counters, op.name);
    }
    this.#backend.counters.submits++;
    return new Map(
      this.#lowered.outputs.map(({ name, operand }) => {
        const { spec, data } = tensor(operand);
        return [name, encode(spec, data).slice()];
      }),
    );
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

function pending(spec: ConcreteSpec, results: Promise<ReadonlyMap<string, TypedArray>>, name: string): Tensor {
  return new Tensor(spec, {
    home: "reference",
    ready: async () => void (await results),
    read: async () => (await results).get(name)!.slice(),
    free: () => undefined,
  });
}

/** Zeros in decoded form: f16, bf16 and block types are `Float32Array`. */
function zeros({ dtype, shape }: ConcreteSpec): TypedArray {
  const type = typedArrayOf(dtype);
  const decoded = dtype === "i32" || dtype === "u32" || dtype === "i8" || dtype === "u8" ? type : Float32Array;
  return new decoded(elementCount(shape));
}
