import { type ConcreteSpec, type DimValues, OutOfMemoryError } from "@centella/core";
import { elementAt, entryOf, type Lowered, type Operand, resolveSpec, type Storage } from "@centella/core/backend";
import { deviceBytes, paddedBytes, roundUp } from "../device/layout.ts";
import type { DeviceQueue, Readback, Region } from "../device/queue.ts";
import type { Dispatch, DispatchSize } from "../kernels/shared/kernel.ts";

/** A compiled dispatch of a plan. `pieces` are bound to its bindings, in order. */
export interface PlannedDispatch {
  readonly op: string;
  readonly dispatch: Dispatch;
  readonly pipeline: GPUComputePipeline;
  readonly pieces: readonly Piece[];
}

/** What a binding is bound to: a value of the program, or a buffer that belongs to the plan. */
export type Piece = { readonly kind: "operand"; readonly operand: Operand } | { readonly kind: "buffer"; readonly buffer: GPUBuffer };

/** A dispatch for one set of dims, ready to be encoded. */
interface ReadyDispatch {
  readonly pipeline: GPUComputePipeline;
  readonly bindGroup: GPUBindGroup;
  readonly x: number;
  readonly y: number;
}

/** Where an input's content goes in the upload buffer. */
export interface InputPlace {
  readonly name: string;
  readonly spec: ConcreteSpec;
  readonly offset: number;
}

/** A plan's memory as variants see it. */
export interface PlanMemory {
  readonly upload: GPUBuffer;
  /** Returns the buffer of a storage that is not an input. */
  bufferOf(storage: Storage): GPUBuffer;
}

/**
 * A plan for one set of dims and one choice of which inputs are already on the device: offsets, uniforms, grids and bind
 * groups, all created once. The upload buffer holds the uniform blocks, then the host's inputs, then the device's; `image` is
 * its content up to the device's inputs, with the uniforms filled in.
 */
export interface Variant {
  readonly image: ArrayBuffer;
  readonly hostInputs: readonly InputPlace[];
  readonly deviceInputs: readonly InputPlace[];
  readonly dispatches: readonly ReadyDispatch[];
  readonly outputs: readonly { readonly name: string; readonly to: "host" | "device"; readonly readback: Readback }[];
}

/** Offsets of uniform and storage bindings are multiples of this on every device. */
export const alignment = 256;

/** Returns the largest size of upload buffer that a plan needs, in bytes. */
export function uploadBytes(dispatches: readonly Dispatch[], inputs: readonly ConcreteSpec[]): number {
  const uniforms = dispatches.reduce((sum, { uniforms: fields }) => sum + roundUp(4 * fields.length, alignment), 0);
  return inputs.reduce((sum, spec) => sum + roundUp(paddedBytes(deviceBytes(spec)), alignment), uniforms);
}

export function createVariant(
  queue: DeviceQueue,
  lowered: Lowered,
  planned: readonly PlannedDispatch[],
  memory: PlanMemory,
  dims: DimValues,
  isOnDevice: (input: string) => boolean,
): Variant {
  const active = planned.map((each) => ({ ...each, size: each.dispatch.sizeIn(dims) })).filter(({ size }) => size.groups > 0);
  const uniforms = packUniforms(active);

  const { program } = lowered;
  const inputs = [...program.inputs].map(([name, id]) => ({ name, id, spec: resolveSpec(elementAt(program.values, id).spec, dims) }));
  let end = uniforms.bytes;
  const places = new Map<number, InputPlace>();
  const place = ({ name, id, spec }: (typeof inputs)[number]): InputPlace => {
    const at = { name, spec, offset: end };
    places.set(id, at);
    end = roundUp(end + paddedBytes(deviceBytes(spec)), alignment);
    return at;
  };
  const hostInputs = inputs.filter(({ name }) => !isOnDevice(name)).map(place);
  const last = hostInputs.findLast(({ spec }) => deviceBytes(spec) > 0);
  const imageBytes = last === undefined ? uniforms.bytes : last.offset + paddedBytes(deviceBytes(last.spec));
  const deviceInputs = inputs.filter(({ name }) => isOnDevice(name)).map(place);
  const image = new ArrayBuffer(imageBytes);
  new Uint8Array(image).set(uniforms.data);

  const region = ({ storage }: Operand): Region => {
    if (storage.definition.kind !== "input") return { buffer: memory.bufferOf(storage), offset: 0 };
    return { buffer: memory.upload, offset: entryOf(places, storage.id).offset };
  };
  const dispatches = active.map(({ op, dispatch, pipeline, pieces, size }, i): ReadyDispatch => {
    const resources = pieces.map((piece): GPUBufferBinding => {
      if (piece.kind === "buffer") return { buffer: piece.buffer };
      const size = paddedBytes(deviceBytes(resolveSpec(piece.operand.spec, dims)));
      return { ...region(piece.operand), size };
    });
    resources.push({ buffer: memory.upload, offset: elementAt(uniforms.offsets, i), size: uniformBytes(dispatch) });
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const bindGroup = queue.device.createBindGroup({ label: op, layout: queue.pipelines.layout(dispatch), entries });
    return { pipeline, bindGroup, ...grid(size.groups, queue.device.limits.maxComputeWorkgroupsPerDimension) };
  });
  const outputs = lowered.outputs.map(({ name, to, operand }) => {
    return { name, to, readback: { spec: resolveSpec(operand.spec, dims), from: region(operand) } };
  });
  return { image, hostInputs, deviceInputs, dispatches, outputs };
}

/** Splits a number of workgroups over two axes; kernels skip the excess. @throws {OutOfMemoryError} beyond both axes' limit */
export function grid(groups: number, limit: number): { readonly x: number; readonly y: number } {
  const y = Math.ceil(groups / limit);
  if (y > limit) throw new OutOfMemoryError("webgpu", groups, limit * limit, "the dispatch has more workgroups than the device can count");
  return { x: Math.ceil(groups / y), y };
}

function uniformBytes({ uniforms }: Dispatch): number {
  return roundUp(4 * uniforms.length, 16);
}

/** Packs uniform blocks one after the other. Equal blocks (the layers of a model) share a place. */
function packUniforms(dispatches: readonly { readonly dispatch: Dispatch; readonly size: DispatchSize }[]): {
  readonly data: Uint8Array;
  readonly offsets: readonly number[];
  readonly bytes: number;
} {
  const places = new Map<string, number>();
  const blocks: { readonly offset: number; readonly block: Uint8Array }[] = [];
  let bytes = 0;
  const offsets = dispatches.map(({ dispatch, size }) => {
    const block = packFields(dispatch, size);
    const key = block.join();
    const known = places.get(key);
    if (known !== undefined) return known;
    const offset = bytes;
    places.set(key, offset);
    blocks.push({ offset, block });
    bytes += block.length;
    return offset;
  });
  const data = new Uint8Array(bytes);
  for (const { offset, block } of blocks) data.set(block, offset);
  return { data, offsets, bytes };
}

function packFields({ uniforms }: Dispatch, { values }: DispatchSize): Uint8Array {
  const block = new Uint8Array(roundUp(4 * uniforms.length, alignment));
  const view = new DataView(block.buffer);
  uniforms.forEach(({ name, type }, i) => {
    const value = values[name]!;
    if (type === "f32") view.setFloat32(4 * i, value, true);
    else if (type === "i32") view.setInt32(4 * i, value, true);
    else view.setUint32(4 * i, value, true);
  });
  return block;
}
