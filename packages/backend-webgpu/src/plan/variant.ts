import { type ConcreteSpec, type DimValues, UnsupportedError } from "@centella/core";
import { elementAt, entryOf, type Lowered, type Operand, resolveSpec, type Storage } from "@centella/core/backend";
import type { Region } from "../device/buffers.ts";
import { deviceBytes, paddedBytes, roundUp } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { type Readback, type ReadbackLayout, readbackLayout } from "../device/readbacks.ts";
import { leastMappedBytes } from "../device/uploads.ts";
import type { Dispatch, DispatchSize } from "../kernels/shared/kernel.ts";

/** A pipeline, once it is compiled. */
export interface CompiledPipeline {
  value?: GPUComputePipeline;
}

/** A compiled dispatch of a plan. `pieces` are bound to its bindings, in order. */
export interface PlannedDispatch {
  readonly op: string;
  /** Index of the step that it computes, or a part of it. */
  readonly step: number;
  readonly dispatch: Dispatch;
  readonly pipeline: CompiledPipeline;
  readonly pieces: readonly Piece[];
}

/** What a binding is bound to: a value of the program, or a buffer that belongs to the plan. */
export type Piece = { readonly kind: "operand"; readonly operand: Operand } | { readonly kind: "buffer"; readonly buffer: GPUBuffer };

/** A dispatch of a run, ready to be encoded. */
export interface ReadyDispatch {
  readonly step: number;
  readonly pipeline: CompiledPipeline;
  readonly bindGroup: GPUBindGroup;
  readonly x: number;
  readonly y: number;
  /** The bind group that has the memory of outputs in place of the plan's, if there are any to {@link VariantRun.direct}. */
  readonly bindTo?: (memoryOf: TargetMemory) => GPUBindGroup;
}

/** The memory of a run's output on the device, by the id of its storage. */
export type TargetMemory = (storage: number) => GPUBuffer;

/** Where an input's content goes in the upload buffer. */
export interface InputPlace {
  readonly name: string;
  readonly spec: ConcreteSpec;
  readonly offset: number;
}

/** A plan's program and memory as variants see them. */
export interface VariantSource {
  readonly lowered: Lowered;
  readonly dispatches: readonly PlannedDispatch[];
  readonly upload: GPUBuffer;
  /** Returns the buffer of a storage that is not an input. */
  bufferOf(storage: Storage): GPUBuffer;
}

/** How an input gets to the upload buffer: as part of the image, by way of mapped memory, or from a tensor on the device. */
type InputSource = "image" | "mapped" | "device";

/** The order of inputs in the upload buffer. */
const sources: readonly InputSource[] = ["image", "mapped", "device"];

/** An output, the id of its storage, and where its content is in the plan's memory. */
interface OutputPlace extends Readback {
  readonly name: string;
  readonly to: "host" | "device";
  readonly storage: number;
}

/** What runs of the same extents have in common: uniforms, grids, and the specs of inputs and outputs. */
export interface VariantRun {
  readonly inputs: Readonly<Record<InputSource, readonly InputPlace[]>>;
  readonly dispatches: readonly ReadyDispatch[];
  /** The dispatches in the parts that an idle device gets one by one: it works on one while the host records the next. */
  readonly parts: readonly (readonly ReadyDispatch[])[];
  readonly outputs: readonly OutputPlace[];
  /** The outputs that go to the host. */
  readonly readbacks: ReadbackLayout;
  /** Names of the large outputs on the device by their storages' ids. Kernels write them where they stay: a copy takes longer than most kernels. */
  readonly direct: ReadonlyMap<number, string>;
  /** The uniform blocks, from the beginning of the upload buffer on. */
  readonly uniforms: Uint8Array;
  /** Bytes of the image: uniforms and small inputs. */
  readonly imageBytes: number;
}

/** Offsets of uniform and storage bindings are multiples of this on every device. */
export const alignment = 256;

/** Returns the largest size of upload buffer that a plan needs, in bytes. */
export function uploadBytes(dispatches: readonly Dispatch[], inputs: readonly ConcreteSpec[]): number {
  return inputs.reduce((sum, spec) => sum + roundUp(paddedBytes(deviceBytes(spec)), alignment), uniformPlaces(dispatches).bytes);
}

/**
 * A plan for one bucket of each dim and one choice of which inputs are already on the device. Offsets and bind groups fit the largest extents
 * of the buckets and are created once; uniforms and grids are those of a run. The upload buffer holds the image, which is written at once (uniform
 * blocks and small inputs), then large inputs, then copies of the device's tensors.
 */
export class Variant {
  readonly #queue: DeviceQueue;
  readonly #source: VariantSource;
  readonly #bucket: DimValues;
  readonly #uniforms: ReturnType<typeof uniformPlaces>;
  /** Inputs and their offsets in the upload buffer, by id. */
  readonly #inputs: ReadonlyMap<number, { readonly name: string; readonly source: InputSource; readonly offset: number }>;
  readonly #image: Uint8Array<ArrayBuffer>;
  readonly #bindGroups = new Map<PlannedDispatch, GPUBindGroup>();
  /** Bind groups with memory of outputs, by dispatch and the first of these buffers. */
  readonly #directGroups = new Map<
    PlannedDispatch,
    WeakMap<GPUBuffer, { readonly buffers: readonly GPUBuffer[]; readonly group: GPUBindGroup }>
  >();
  /** The run whose uniforms the image has. */
  #current: VariantRun | undefined;

  constructor(queue: DeviceQueue, source: VariantSource, bucket: DimValues, isOnDevice: (input: string) => boolean) {
    this.#queue = queue;
    this.#source = source;
    this.#bucket = bucket;
    this.#uniforms = uniformPlaces(source.dispatches.map(({ dispatch }) => dispatch));
    const { program } = source.lowered;
    const all = [...program.inputs].map(([name, id]) => {
      const bytes = this.#largestBytes(elementAt(program.values, id));
      const source: InputSource = isOnDevice(name) ? "device" : bytes < leastMappedBytes ? "image" : "mapped";
      return { name, id, bytes, source };
    });
    const inputs = new Map<number, { name: string; source: InputSource; offset: number }>();
    let end = this.#uniforms.bytes;
    let imageEnd = end;
    for (const { id, bytes, ...input } of all.sort((a, b) => sources.indexOf(a.source) - sources.indexOf(b.source))) {
      inputs.set(id, { ...input, offset: end });
      end = roundUp(end + bytes, alignment);
      if (input.source === "image") imageEnd = end;
    }
    this.#inputs = inputs;
    this.#image = new Uint8Array(imageEnd);
  }

  /** The upload buffer's content for a run, with its uniforms filled in. Valid until the next call. */
  imageOf(run: VariantRun): Uint8Array<ArrayBuffer> {
    if (this.#current !== run) this.#image.set(run.uniforms);
    this.#current = run;
    return this.#image;
  }

  /** Runs of these extents, which are in the bucket. @throws {CentellaError} if a kernel refuses the extents */
  at(dims: DimValues): VariantRun {
    const { lowered, dispatches: planned } = this.#source;
    const sizes = new Map([...this.#uniforms.offsets.keys()].map((dispatch) => [dispatch, dispatch.sizeIn(dims)]));
    const inputs = [...this.#inputs].map(([id, input]) => {
      return { ...input, spec: resolveSpec(elementAt(lowered.program.values, id).spec, dims) };
    });
    const inputsFrom = (wanted: InputSource): readonly InputPlace[] => inputs.filter(({ source }) => source === wanted);
    const image = inputsFrom("image");
    const last = image.findLast(({ spec }) => deviceBytes(spec) > 0);
    const limit = this.#queue.device.limits.maxComputeWorkgroupsPerDimension;
    const direct = directOutputs(lowered, dims);
    const dispatches = planned.flatMap((each): ReadyDispatch[] => {
      const { groups } = entryOf(sizes, each.dispatch);
      if (groups === 0) return [];
      const { op, step, pipeline } = each;
      return [{ step, pipeline, bindGroup: this.#bindGroupOf(each), ...grid(op, groups, limit), ...this.#targetsOf(each, direct) }];
    });
    const outputs = lowered.outputs.map(({ name, to, operand }): OutputPlace => {
      return { name, to, storage: operand.storage.id, spec: resolveSpec(operand.spec, dims), from: this.#regionOf(operand) };
    });
    return {
      direct,
      inputs: { image, mapped: inputsFrom("mapped"), device: inputsFrom("device") },
      dispatches,
      parts: submissionParts(dispatches),
      outputs,
      readbacks: readbackLayout(outputs.filter(({ to }) => to === "host")),
      uniforms: packUniforms(this.#uniforms, sizes),
      imageBytes: last === undefined ? this.#uniforms.bytes : last.offset + paddedBytes(deviceBytes(last.spec)),
    };
  }

  #bindGroupOf(planned: PlannedDispatch): GPUBindGroup {
    const known = this.#bindGroups.get(planned);
    if (known !== undefined) return known;
    const bindGroup = this.#createBindGroup(planned, (operand) => ({ ...this.#regionOf(operand), size: this.#largestBytes(operand) }));
    this.#bindGroups.set(planned, bindGroup);
    return bindGroup;
  }

  #targetsOf(planned: PlannedDispatch, direct: VariantRun["direct"]): Pick<ReadyDispatch, "bindTo"> {
    const ids = planned.pieces.flatMap((piece) =>
      piece.kind === "operand" && direct.has(piece.operand.storage.id) ? [piece.operand.storage.id] : [],
    );
    if (ids.length === 0) return {};
    const known = this.#directGroups.get(planned) ?? new WeakMap();
    this.#directGroups.set(planned, known);
    const { maxStorageBufferBindingSize } = this.#queue.device.limits;
    return {
      bindTo: (memoryOf) => {
        const buffers = ids.map(memoryOf);
        const first = elementAt(buffers, 0);
        const found = known.get(first);
        if (found?.buffers.every((buffer: GPUBuffer, i: number) => buffer === buffers[i]) === true) return found.group;
        const group = this.#createBindGroup(planned, (operand) => {
          if (!direct.has(operand.storage.id)) return { ...this.#regionOf(operand), size: this.#largestBytes(operand) };
          const buffer = memoryOf(operand.storage.id);
          return { buffer, size: Math.min(buffer.size, maxStorageBufferBindingSize) };
        });
        known.set(first, { buffers, group });
        return group;
      },
    };
  }

  #createBindGroup({ op, dispatch, pieces }: PlannedDispatch, bindingOf: (operand: Operand) => GPUBufferBinding): GPUBindGroup {
    const resources = pieces.map((piece) => (piece.kind === "buffer" ? { buffer: piece.buffer } : bindingOf(piece.operand)));
    const offset = entryOf(this.#uniforms.offsets, dispatch);
    resources.push({ buffer: this.#source.upload, offset, size: roundUp(4 * dispatch.uniforms.length, 16) });
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const layout = this.#queue.pipelines.layout(dispatch);
    return this.#queue.device.createBindGroup({ label: op, layout, entries });
  }

  #regionOf({ spec, storage }: Operand): Region {
    const { upload, bufferOf } = this.#source;
    const { definition } = storage;
    if (definition.kind === "input") return { buffer: upload, offset: entryOf(this.#inputs, storage.id).offset };
    return regionOf({ spec, storage }, bufferOf);
  }

  #largestBytes({ spec }: Pick<Operand, "spec">): number {
    return paddedBytes(deviceBytes(resolveSpec(spec, this.#bucket)));
  }
}

/** Dispatches of a run's first part. */
export const firstPart = 32;

/** Parts of which each has at least twice as many dispatches as the one before; a single one of up to twice {@link firstPart} dispatches. */
export function submissionParts(dispatches: readonly ReadyDispatch[]): readonly (readonly ReadyDispatch[])[] {
  const parts: (readonly ReadyDispatch[])[] = [];
  let from = 0;
  for (let size = firstPart; dispatches.length - from > 2 * size; size *= 2) {
    parts.push(dispatches.slice(from, from + size));
    from += size;
  }
  return parts.length === 0 ? [dispatches] : [...parts, dispatches.slice(from)];
}

/** Bytes from which on the copy of an output takes longer than binding its memory. */
const leastDirect = 2 ** 20;

/** Outputs on the device that kernels write in place: large ones that are computed, and no two of which share memory. */
function directOutputs({ outputs }: Lowered, dims: DimValues): ReadonlyMap<number, string> {
  const isDirect = ({ to, operand }: Lowered["outputs"][number]): boolean =>
    to === "device" &&
    operand.storage.definition.kind === "node" &&
    outputs.filter((other) => other.operand.storage === operand.storage).length === 1 &&
    deviceBytes(resolveSpec(operand.spec, dims)) >= leastDirect;
  return new Map(outputs.filter(isDirect).map(({ name, operand }) => [operand.storage.id, name]));
}

/** Where an operand is that is not an input. */
export function regionOf({ spec, storage }: Operand, bufferOf: VariantSource["bufferOf"]): Region {
  const { definition } = storage;
  const from = definition.kind === "persistent" ? (definition.from ?? 0) : 0;
  return { buffer: bufferOf(storage), offset: deviceBytes({ dtype: spec.dtype, shape: [from] }) };
}

/** Records dispatches in an empty pass, once the plan's pipelines are compiled. Sets what the dispatch before had not set: each call takes about 1 µs. */
export function encodeDispatches(pass: GPUComputePassEncoder, dispatches: Iterable<ReadyDispatch>, memoryOf?: TargetMemory): void {
  let setPipeline: GPUComputePipeline | undefined;
  let setGroup: GPUBindGroup | undefined;
  for (const { pipeline, bindGroup, bindTo, x, y } of dispatches) {
    const group = bindTo === undefined || memoryOf === undefined ? bindGroup : bindTo(memoryOf);
    if (pipeline.value !== setPipeline) pass.setPipeline(pipeline.value!);
    if (group !== setGroup) pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(x, y);
    setPipeline = pipeline.value;
    setGroup = group;
  }
}

/** Splits an op's workgroups over two axes; kernels skip the excess. @throws {UnsupportedError} beyond both axes' limit */
export function grid(op: string, groups: number, limit: number): { readonly x: number; readonly y: number } {
  const y = Math.ceil(groups / limit);
  if (y > limit) {
    const reason = `${groups} workgroups are more than the ${limit * limit} that the device can count; use smaller tensors or another backend`;
    throw new UnsupportedError(`webgpu: ${op}`, reason);
  }
  return { x: Math.ceil(groups / y), y };
}

/** Places the uniform blocks of dispatches one after the other. Equal calls (the layers of a model) share dispatches and places. */
export function uniformPlaces(dispatches: readonly Dispatch[]): {
  readonly offsets: ReadonlyMap<Dispatch, number>;
  readonly bytes: number;
} {
  const offsets = new Map<Dispatch, number>();
  let bytes = 0;
  for (const dispatch of new Set(dispatches)) {
    offsets.set(dispatch, bytes);
    bytes += roundUp(4 * dispatch.uniforms.length, alignment);
  }
  return { offsets, bytes };
}

export function packUniforms({ offsets, bytes }: ReturnType<typeof uniformPlaces>, sizes: ReadonlyMap<Dispatch, DispatchSize>): Uint8Array {
  const view = new DataView(new ArrayBuffer(bytes));
  for (const [dispatch, offset] of offsets) {
    const { groups, values } = entryOf(sizes, dispatch);
    if (groups === 0) continue;
    dispatch.uniforms.forEach(({ name, type }, i) => {
      const value = values[name]!;
      const at = offset + 4 * i;
      if (type === "f32") view.setFloat32(at, value, true);
      else if (type === "i32") view.setInt32(at, value, true);
      else view.setUint32(at, value, true);
    });
  }
  return new Uint8Array(view.buffer);
}
