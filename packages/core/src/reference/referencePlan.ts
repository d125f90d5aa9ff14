import { elementAt, entryOf } from "@centella/quant/checks";
import type { Plan, RunOptions, StepTime } from "../backend/backend.ts";
import type { Binding } from "../backend/bind.ts";
import { countStep } from "../backend/counters.ts";
import { decode, encode } from "../backend/decode.ts";
import { hostMemory } from "../backend/hostMemory.ts";
import { HostArrays, PendingOutputs } from "../backend/pendingOutputs.ts";
import { missingPersistents, PlanBase, type PlanOwner, sharedPlan, withPersistents } from "../backend/planBase.ts";
import type { Lowered, Operand, Storage } from "../compiler/lowered.ts";
import { type FusedParams, writtenInput } from "../compiler/passes/fused.ts";
import { isQuantized, type TypedArray } from "../dtype.ts";
import { OutOfMemoryError } from "../errors.ts";
import type { HostTensor } from "../program/op.ts";
import type { Persistent } from "../program/programGraph.ts";
import { evaluateGroup, referenceOf } from "../references.ts";
import { byteLength, type ConcreteSpec, type DimValues, resolveSpec } from "../spec.ts";
import { Tensor } from "../tensor.ts";
import { ReferencePersistentBuffer, zeros } from "./persistentBuffer.ts";
import { referenceBytes } from "./referenceMemory.ts";

/** The part of a backend that its plans use and account to. */
interface ReferenceOwner extends PlanOwner<ReferencePersistentBuffer> {
  /** Bytes of outputs that are not disposed. */
  outputBytes: number;
}

/** Stored forms of a run's inputs, by name. */
type StoredForms = ReadonlyMap<string, TypedArray>;

/** A program on the scalar backend, step by step with the ops' own references. */
export class ReferencePlan extends PlanBase<ReferencePersistentBuffer> {
  readonly #backend: ReferenceOwner;

  constructor(backend: ReferenceOwner, lowered: Lowered, shareWith: Plan | undefined) {
    const shared = sharedPlan(backend.plans, shareWith);
    const persistents = withPersistents(lowered.program, shared, (buffers: Map<string, ReferencePersistentBuffer>) => {
      const missing = missingPersistents(lowered.program, buffers);
      requireMemory(missing);
      for (const persistent of missing) buffers.set(persistent.name, new ReferencePersistentBuffer(persistent));
      return buffers;
    });
    super(backend, lowered, persistents);
    this.#backend = backend;
  }

  runSync(inputs: Readonly<Record<string, TypedArray>>, options: Pick<RunOptions, "dims"> = {}): Record<string, TypedArray> {
    const { dims } = this.bindSync(inputs, options);
    const stored = new Map(Object.entries(inputs).map(([name, data]) => [name, data.slice()]));
    const arrays = this.#execute(stored, dims, undefined);
    return Object.fromEntries(this.lowered.outputs.map(({ name }, i) => [name, elementAt(arrays, i)]));
  }

  protected override start(binding: Binding, signal: AbortSignal | undefined): Record<string, Tensor> {
    const { dims } = binding;
    const outputs = new PendingOutputs(this.#enqueue(binding, (stored) => new HostArrays(this.#execute(stored, dims, signal))));
    return Object.fromEntries(
      this.lowered.outputs.map(({ name, operand }, i) => [name, this.#output(outputs, i, resolveSpec(operand.spec, dims))]),
    );
  }

  protected override timeSteps(binding: Binding, perStep: boolean, signal: AbortSignal | undefined): Promise<readonly StepTime[]> {
    return this.#enqueue(binding, (stored) => {
      const times: StepTime[] = [];
      let start = performance.now();
      const record = (): void => {
        const now = performance.now();
        times.push({ microseconds: 1000 * (now - start) });
        start = now;
      };
      this.#execute(stored, binding.dims, signal, perStep ? record : undefined);
      if (!perStep) record();
      return times;
    });
  }

  /** The persistents hold all the memory. */
  protected override free(): void {}

  /** Runs `work` when its turn comes, on a copy of the inputs that is made at the call. */
  #enqueue<T>({ inputs }: Binding, work: (stored: StoredForms) => T): Promise<T> {
    const copies = [...inputs].map(([name, { data }]) => ({
      name,
      data: data instanceof Tensor ? data.data() : Promise.resolve(data.slice()),
    }));
    // A failed input reaches the caller, once the work's turn comes.
    for (const { data } of copies) data.catch(() => undefined);
    return this.#backend.enqueue(async () => {
      const stored = new Map<string, TypedArray>();
      for (const { name, data } of copies) stored.set(name, await data);
      return work(stored);
    });
  }

  #output(outputs: PendingOutputs, index: number, spec: ConcreteSpec): Tensor {
    const bytes = byteLength(spec);
    this.#backend.outputBytes += bytes;
    const onFree = (): void => {
      this.#backend.outputBytes -= bytes;
    };
    return outputs.tensor(spec, index, { device: this.#backend.name, onFree });
  }

  #execute(inputs: StoredForms, dims: DimValues, signal: AbortSignal | undefined, afterStep?: () => void): readonly TypedArray[] {
    const memory = new RunMemory(inputs, dims, (name) => this.persistent(name));
    const { counters } = this.#backend;
    for (const step of this.lowered.steps) {
      signal?.throwIfAborted();
      const { op, params, output, extraOutputs } = step;
      const tensors = step.inputs.map((operand) => operand && memory.tensor(operand));
      if (extraOutputs === undefined) referenceOf(op)(tensors, params, memory.tensor(output));
      else {
        const extra = extraOutputs.map((operand) => memory.tensor(operand));
        evaluateGroup(tensors, params as FusedParams, memory.tensor(output), extra);
      }
      countStep(counters, step);
      if (writtenInput({ op, params }) !== undefined) memory.noteWritten(output.storage);
      afterStep?.();
    }
    counters.submits++;
    return this.lowered.outputs.map(({ operand }) => {
      const { spec, data, stored } = memory.tensor(operand);
      return (stored ?? encode(spec, data)).slice();
    });
  }
}

/** The tensors of one run: decoded, and as blocks where their dtype has them. */
class RunMemory {
  readonly #inputs: StoredForms;
  readonly #dims: DimValues;
  readonly #persistent: (name: string) => ReferencePersistentBuffer;
  readonly #decoded = new Map<Storage, TypedArray>();
  readonly #blocks = new Map<Storage, TypedArray>();

  constructor(inputs: StoredForms, dims: DimValues, persistent: (name: string) => ReferencePersistentBuffer) {
    this.#inputs = inputs;
    this.#dims = dims;
    this.#persistent = persistent;
  }

  tensor({ spec: symbolic, storage }: Operand): HostTensor {
    const spec = resolveSpec(symbolic, this.#dims);
    let data = this.#decoded.get(storage);
    if (data === undefined) {
      data = this.#initial(storage, spec);
      this.#decoded.set(storage, data);
    }
    const stored = isQuantized(spec.dtype) ? (this.#blocks.get(storage) ?? this.#initialBlocks(storage, spec)) : undefined;
    if (stored !== undefined) this.#blocks.set(storage, stored);
    return { spec, data, ...(stored && { stored }) };
  }

  /** Forgets the blocks of a persistent that an op has written: its values are the decoded ones now. */
  noteWritten(storage: Storage): void {
    const { definition } = storage;
    if (definition.kind !== "persistent") return;
    this.#persistent(definition.name).forgetBlocks();
    this.#blocks.delete(storage);
  }

  /** Returns the stored blocks if no op has written into them, or room for those that a node computes. */
  #initialBlocks({ definition }: Storage, spec: ConcreteSpec): TypedArray | undefined {
    switch (definition.kind) {
      case "input":
        return entryOf(this.#inputs, definition.name);
      case "constant":
        return definition.data;
      case "persistent":
        return this.#persistent(definition.name).blocks;
      case "node":
        return new Uint8Array(byteLength(spec));
    }
  }

  #initial({ definition }: Storage, spec: ConcreteSpec): TypedArray {
    switch (definition.kind) {
      case "input":
        return decode(spec, entryOf(this.#inputs, definition.name));
      case "constant":
        return decode(spec, definition.data);
      case "persistent":
        return this.#persistent(definition.name).data;
      case "node":
        return zeros(spec);
    }
  }
}

/**
 * Checks that weights and caches fit before any of them is allocated or read: platforms grant memory that they do not have.
 * @throws {OutOfMemoryError}
 */
function requireMemory(persistents: readonly Persistent[]): void {
  const bytes = persistents.reduce((sum, { spec }) => sum + referenceBytes(spec), 0);
  if (bytes === 0) return;
  const { bytes: free, source } = hostMemory();
  if (bytes > free)
    throw new OutOfMemoryError("reference", bytes, free, `that is ${source}; use a smaller model, a shorter context or another backend`);
}
