import { type DimValues, type LoadOptions, Tensor, type TensorSource, type TypedArray } from "@centella/core";
import {
  type Binding,
  bucketsOf,
  dimsKey,
  elementAt,
  elementCount,
  entryOf,
  type HostResults,
  type Lowered,
  LruCache,
  maxVariants,
  PendingOutputs,
  PlanBase,
  type PlanOwner,
  type StepTime,
  type Storage,
  unlessAborted,
  variantKey,
} from "@centella/core/backend";
import { DeviceStorage } from "../device/deviceTensor.ts";
import { copyBytes, deviceBytes, toDevice } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import type { MappedMemory } from "../device/uploads.ts";
import { type Tuning, untimed } from "../tuning/tuning.ts";
import type { WebgpuPersistentBuffer } from "./persistentBuffer.ts";
import { RunAhead } from "./runAhead.ts";
import { type RecordedRun, submitRun } from "./submitRun.ts";
import type { submitTimed } from "./timeSteps.ts";
import { type PlannedDispatch, regionOf, Variant, type VariantRun } from "./variant.ts";

/** Result of compiling a program. */
export interface PlanParts {
  readonly lowered: Lowered;
  readonly dispatches: readonly PlannedDispatch[];
  /** Resolves when the pipelines are compiled. */
  readonly compiled: Promise<void>;
  readonly persistents: ReadonlyMap<string, WebgpuPersistentBuffer>;
  readonly upload: GPUBuffer;
  readonly slots: readonly GPUBuffer[];
  readonly slotOf: ReadonlyMap<number, number>;
  readonly constants: ReadonlyMap<number, GPUBuffer>;
  /** All buffers that belong to the plan alone, those above included. */
  readonly buffers: readonly GPUBuffer[];
}

/** What runs of the same extents, with the same inputs on the device, have in common. */
interface PreparedRun {
  readonly variant: Variant;
  readonly run: VariantRun;
}

/** Runs of which a plan keeps the uniforms and grids. */
const maxRuns = 256;

/** What a run reads and writes. */
interface RunTensors {
  /** Inputs: bytes for the upload buffer, or tensors on this device. */
  readonly content: Map<string, TypedArray | DeviceStorage>;
  /** Completion of the inputs that are still to be fetched; each adds itself to `content`. */
  readonly waiting: Promise<void>[];
  /** Memory of the outputs that stay on the device. */
  readonly targets: Map<string, DeviceStorage>;
}

/** A program on a WebGPU device. */
export class WebgpuPlan extends PlanBase<WebgpuPersistentBuffer> {
  #parts: PlanParts;
  #queue: DeviceQueue;
  readonly #variants = new LruCache<Variant>(maxVariants);
  readonly #runs = new LruCache<PreparedRun>(maxRuns);
  readonly #tuning: Tuning | undefined;
  #isCompiled = false;
  readonly #ahead = new RunAhead();

  /** @param warnings those of the backend's options */
  constructor(
    owner: PlanOwner<WebgpuPersistentBuffer>,
    queue: DeviceQueue,
    parts: PlanParts,
    tuning: Tuning | undefined,
    warnings: readonly string[],
  ) {
    const untuned = tuning === undefined ? [] : untimedWarnings(queue, tuning, parts.dispatches);
    super(owner, parts.lowered, parts.persistents, [...warnings, ...untuned]);
    this.#queue = queue;
    this.#parts = parts;
    this.#tuning = tuning;
    this.#watch(parts);
  }

  /** Goes on with what was compiled for a device that was opened in place of a lost one. */
  moveTo(queue: DeviceQueue, parts: PlanParts): void {
    this.#queue = queue;
    this.#parts = parts;
    this.#forgetVariants();
    this.#isCompiled = false;
    this.#watch(parts);
  }

  /** What the plan was compiled from. */
  get source(): Lowered {
    return this.lowered;
  }

  /** Bytes of everything but the persistents: temporaries, constants, uploads. */
  get arenaBytes(): number {
    return this.#parts.buffers.reduce((sum, { size }) => sum + size, 0);
  }

  async prepare(extents: readonly DimValues[]): Promise<void> {
    this.requireAlive();
    await this.#parts.compiled;
    for (const dims of extents) {
      // Bind groups of hundreds of dispatches take milliseconds.
      await new Promise((resolve) => setTimeout(resolve));
      if (this.isDisposed) return;
      this.#runAt(dims, new Map());
    }
  }

  override async load(name: string, source: TensorSource, options: LoadOptions = {}): Promise<void> {
    await super.load(name, source, options);
    await this.tune();
  }

  /** Times the forms of kernels that the store does not know, once all weights are loaded. Runs that are queued later wait for it. */
  async tune(): Promise<void> {
    const tuning = this.#tuning;
    if (tuning === undefined || !this.isLoaded || untimed(tuning, this.#parts.dispatches).length === 0) return;
    if (!this.#queue.capabilities.timestamps) return;
    const { timeForms } = await import("../tuning/timeForms.ts");
    const bufferOf = (storage: Storage): GPUBuffer => this.#bufferOf(storage);
    const work = async (): Promise<void> => {
      if (this.isDisposed) return;
      const { dispatches, lowered } = this.#parts;
      await timeForms(this.#queue, tuning, { dispatches, program: lowered.program, regionOf: (operand) => regionOf(operand, bufferOf) });
      await this.#takeForms(tuning);
    };
    await this.#queue.guard(this.#queue.order.post(this.#parts.compiled, work));
  }

  protected override start({ dims, inputs }: Binding, signal: AbortSignal | undefined): Record<string, Tensor> {
    const tensors = this.#tensorsOf(inputs);
    const { targets } = tensors;
    const { variant, run } = this.#prepare(dims, tensors);
    for (const { name, to, spec } of run.outputs) if (to === "device") targets.set(name, new DeviceStorage(this.#queue, spec));
    const submitted = this.#post(tensors, signal, () => ({ results: this.#submitRun(variant, run, tensors) }));
    const results = submitted.then(({ results }) => results);
    const host = new PendingOutputs(unlessAborted(results, signal, run.readbacks.places.length));
    if (targets.size > 0) {
      const produced = submitted.then(() => signal?.throwIfAborted());
      // A failure reaches the readers of the outputs, if there are any.
      produced.catch(() => undefined);
      for (const storage of targets.values()) storage.produced = produced;
    }
    return host.tensors(run.outputs, targets);
  }

  protected override async timeSteps(
    { dims, inputs }: Binding,
    perStep: boolean,
    signal: AbortSignal | undefined,
  ): Promise<readonly StepTime[]> {
    const tensors = this.#tensorsOf(inputs);
    const code: { submit?: typeof submitTimed } = {};
    const loading = import("./timeSteps.ts").then((loaded) => {
      loaded.requireTimestamps(this.#queue);
      code.submit = loaded.submitTimed;
    });
    tensors.waiting.push(loading);
    const { variant, run } = this.#prepare(dims, tensors);
    const { times } = await this.#post(tensors, signal, () => {
      const steps = perStep ? this.lowered.steps.length : undefined;
      const read = this.#submit(variant, run, tensors.content, (encoder) => code.submit!(this.#queue, encoder, run.dispatches, steps));
      return { times: read() };
    });
    return await times;
  }

  protected override free(): void {
    this.#forgetVariants();
    for (const buffer of this.#parts.buffers) buffer.destroy();
  }

  /** Goes on with the chosen forms of dispatches: they have the same bindings and uniform blocks. */
  async #takeForms(tuning: Tuning): Promise<void> {
    const { dispatches } = this.#parts;
    const chosen = tuning.inChosenForms(dispatches);
    if (chosen.every(({ dispatch }, i) => dispatch === elementAt(dispatches, i).dispatch)) return;
    const compiled = chosen.map(async (planned): Promise<PlannedDispatch> => {
      return { ...planned, pipeline: { value: await this.#queue.pipelines.get(planned.op, planned.dispatch) } };
    });
    this.#parts = { ...this.#parts, dispatches: await Promise.all(compiled) };
    this.#forgetVariants();
  }

  #watch(parts: PlanParts): void {
    const settle = (): void => {
      if (this.#parts === parts) this.#isCompiled = true;
    };
    parts.compiled.then(settle, () => undefined);
  }

  #tensorsOf(inputs: Binding["inputs"]): RunTensors {
    const content: RunTensors["content"] = new Map();
    const waiting: Promise<void>[] = [];
    // A loop over a map's entries would make an object for each.
    inputs.forEach(({ data }, name) => {
      if (!(data instanceof Tensor)) content.set(name, data);
      else if (data.storage instanceof DeviceStorage && data.storage.queue === this.#queue) content.set(name, data.storage);
      else waiting.push(data.data().then((array) => void content.set(name, array)));
    });
    return { content, waiting, targets: new Map() };
  }

  /** The variant and the extents of a run. Copies the inputs of a run that is queued, because the caller may change them meanwhile. */
  #prepare(dims: DimValues, { content, waiting }: RunTensors): PreparedRun {
    const prepared = this.#runAt(dims, content);
    if (!this.#isCompiled) waiting.push(this.#parts.compiled);
    const isQueued = waiting.length > 0 || !this.#queue.order.isIdle;
    if (isQueued) for (const [name, data] of content) if (!(data instanceof DeviceStorage)) content.set(name, data.slice());
    return prepared;
  }

  #runAt(dims: DimValues, content: RunTensors["content"]): PreparedRun {
    let key = dimsKey(this.program, dims);
    content.forEach((data, name) => {
      if (data instanceof DeviceStorage) key += `${name} `;
    });
    const known = this.#runs.get(key);
    if (known !== undefined) return known;
    const onDevice = [...content].flatMap(([name, data]) => (data instanceof DeviceStorage ? [name] : []));
    const variant = this.#variant(dims, new Set(onDevice));
    const prepared = { variant, run: variant.at(dims) };
    this.#runs.set(key, prepared);
    return prepared;
  }

  /** Submits work when its turn comes. Retains the tensors on the device until then. */
  #post<T>({ content, waiting, targets }: RunTensors, signal: AbortSignal | undefined, work: () => T): Promise<T> {
    const used: DeviceStorage[] = [];
    targets.forEach((storage) => void used.push(storage));
    content.forEach((data) => {
      if (data instanceof DeviceStorage) used.push(data);
    });
    for (const storage of used) storage.retain();
    return this.#queue.order.post(waiting.length === 0 ? undefined : Promise.all(waiting), () => {
      try {
        this.#queue.check();
        signal?.throwIfAborted();
        return work();
      } catch (error) {
        for (const storage of targets.values()) storage.failure = error as Error;
        throw error;
      } finally {
        for (const storage of used) storage.free();
      }
    });
  }

  #forgetVariants(): void {
    this.#ahead.drop();
    this.#variants.clear();
    this.#runs.clear();
  }

  #variant(dims: DimValues, onDevice: ReadonlySet<string>): Variant {
    const bucket = bucketsOf(this.program, dims);
    const key = variantKey(bucket, onDevice);
    const found = this.#variants.get(key);
    if (found !== undefined) return found;
    const { lowered, dispatches, upload } = this.#parts;
    const source = { lowered, dispatches, upload, bufferOf: (storage: Storage) => this.#bufferOf(storage) };
    const variant = new Variant(this.#queue, source, bucket, (name) => onDevice.has(name));
    this.#variants.set(key, variant);
    return variant;
  }

  #bufferOf({ id, definition }: Storage): GPUBuffer {
    const { constants, slots, slotOf } = this.#parts;
    switch (definition.kind) {
      case "persistent":
        return this.persistent(definition.name).buffer;
      case "constant":
        return entryOf(constants, id);
      default:
        return elementAt(slots, entryOf(slotOf, id));
    }
  }

  #submitRun(variant: Variant, run: VariantRun, tensors: RunTensors): Promise<HostResults> {
    const queue = this.#queue;
    const recorded = this.#ahead.take(run);
    const results =
      recorded === undefined
        ? this.#submit(variant, run, tensors.content, (encoder) => submitRun(queue, encoder, run, tensors.targets))
        : this.#submitRecorded(variant, recorded, tensors);
    this.#ahead.recordAfter(queue, run);
    return results;
  }

  #submitRecorded(variant: Variant, recorded: RecordedRun, { content, targets }: RunTensors): Promise<HostResults> {
    this.#writeImage(variant, recorded.run, content);
    const results = recorded.submit(targets);
    this.#countRun(recorded.run.imageBytes > 0);
    return results;
  }

  #countRun(hasUpload: boolean): void {
    this.countSteps();
    if (hasUpload) this.#queue.counters.uploads++;
  }

  /** Uploads the inputs of a run. `submit` records its dispatches after the copies of inputs, and submits all. Returns what `submit` does. */
  #submit<T>(variant: Variant, run: VariantRun, content: RunTensors["content"], submit: (encoder: GPUCommandEncoder) => T): T {
    const encoder = this.#queue.device.createCommandEncoder();
    this.#copyDeviceInputs(encoder, run, content);
    const filled = this.#copyLargeInputs(encoder, run, content);
    try {
      this.#writeImage(variant, run, content);
      const result = submit(encoder);
      this.#countRun(run.imageBytes > 0 || filled.length > 0);
      return result;
    } finally {
      for (const { buffer } of filled) void this.#queue.uploads.release(buffer);
    }
  }

  #copyDeviceInputs(encoder: GPUCommandEncoder, { inputs }: VariantRun, content: RunTensors["content"]): void {
    for (const { name, spec, offset } of inputs.device) {
      const { buffer } = content.get(name) as DeviceStorage;
      if (elementCount(spec.shape) > 0) encoder.copyBufferToBuffer(buffer, 0, this.#parts.upload, offset, copyBytes(deviceBytes(spec)));
    }
  }

  /** Fills mapped memory with the large inputs, and records its copies. Release it after the submission. */
  #copyLargeInputs(encoder: GPUCommandEncoder, { inputs }: VariantRun, content: RunTensors["content"]): readonly MappedMemory[] {
    const { uploads } = this.#queue;
    return inputs.mapped.map(({ name, spec, offset }) => {
      const memory = uploads.acquire(deviceBytes(spec));
      memory.bytes.set(toDevice(spec, content.get(name) as TypedArray));
      uploads.copy(encoder, memory, { buffer: this.#parts.upload, offset });
      return memory;
    });
  }

  /** Writes the uniforms and the small inputs. */
  #writeImage(variant: Variant, run: VariantRun, content: RunTensors["content"]): void {
    const image = variant.imageOf(run);
    for (const { name, spec, offset } of run.inputs.image) image.set(toDevice(spec, content.get(name) as TypedArray), offset);
    if (run.imageBytes > 0) this.#queue.device.queue.writeBuffer(this.#parts.upload, 0, image, 0, run.imageBytes);
  }
}

function untimedWarnings({ capabilities, name }: DeviceQueue, tuning: Tuning, dispatches: readonly PlannedDispatch[]): readonly string[] {
  const count = capabilities.timestamps ? 0 : untimed(tuning, dispatches).length;
  if (count === 0) return [];
  return [`webgpu: ${count} products are not tuned: ${name} has no feature "timestamp-query"; use another browser or driver`];
}
