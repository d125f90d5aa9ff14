import { UnsupportedError } from "@centella/core";
import {
  callKey,
  elementAt,
  entryOf,
  type Lowered,
  maxSpec,
  missingPersistents,
  type Operand,
  planSlots,
  type Step,
  type Storage,
} from "@centella/core/backend";
import { type KernelTable, type ProjectedStep, projectedSteps, requireStoredOutputs, withProjectedLives } from "@centella/gpu-kernels";
import { createBuffer, guardMemory, tensorUsage } from "../device/buffers.ts";
import type { Capabilities } from "../device/capabilities.ts";
import { deviceBytes, paddedBytes, toDevice } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { usage } from "../device/usage.ts";
import type { Dispatch, Kernel, Resource } from "../kernels/shared/kernel.ts";
import { forRows } from "../kernels/shared/preparedRows.ts";
import { projectionDispatches } from "../kernels/siblings/projections.ts";
import type { Tuning } from "../tuning/tuning.ts";
import { checkBindings, checkUpload } from "./bindingLimits.ts";
import { WebgpuPersistentBuffer } from "./persistentBuffer.ts";
import type { PlanParts } from "./plan.ts";
import { operandOf, type StepDispatch } from "./stepDispatch.ts";
import { type CompiledPipeline, type Piece, type PlannedDispatch, uploadBytes } from "./variant.ts";

/**
 * Compiles a lowered program: dispatches to pipelines, storages to buffers. `persistents` are those that it shares with another plan;
 * the missing ones are added. See `withPersistents`. With `background`, pipelines may still be compiling when
 * it resolves. With `tuning`, dispatches have the forms that it knows as the fastest ones.
 * @throws {KernelError | OutOfMemoryError | UnsupportedError}
 */
export async function compileProgram(
  queue: DeviceQueue,
  kernels: KernelTable<Kernel>,
  lowered: Lowered,
  persistents: Map<string, WebgpuPersistentBuffer>,
  { background = false, tuning }: { readonly background?: boolean; readonly tuning?: Tuning | undefined },
): Promise<PlanParts> {
  const buffers = new PlanBuffers(queue);
  try {
    requireStoredOutputs("webgpu", lowered);
    const projected = projectedSteps(lowered);
    const generated = dispatchesOf(lowered, kernels, queue.capabilities, projected);
    checkBindings(queue, lowered, generated);
    await tuning?.read(generated.map(({ dispatch }) => dispatch));
    const calls = (tuning?.inChosenForms(generated) ?? generated).map((call) => ({ ...call, pipeline: {} as CompiledPipeline }));
    const pipelines = calls.map(async ({ step, dispatch, pipeline }) => {
      pipeline.value = await queue.pipelines.get(step.op.name, dispatch);
    });
    const compiled = queue.guard(Promise.all(pipelines)).then(() => undefined);
    // The failure reaches what waits for the pipelines.
    compiled.catch(() => undefined);
    if (!background) await compiled;
    const all = calls.map(({ dispatch }) => dispatch);
    const own = await ownBuffers(queue, buffers, lowered, { dispatches: all, projected });
    const { scratch, tables } = await dispatchBuffers(buffers, all);
    const dispatches = calls.map(({ index, step, dispatch, pipeline }): PlannedDispatch => {
      const pieces = dispatch.bindings.map(({ resource }) => pieceOf(resource, step, scratch, tables));
      return { op: step.op.name, step: index, dispatch, pipeline, pieces };
    });
    for (const persistent of missingPersistents(lowered.program, persistents)) {
      persistents.set(persistent.name, await WebgpuPersistentBuffer.create(queue, persistent));
    }
    return { lowered, dispatches, compiled, persistents, ...own, buffers: buffers.created };
  } catch (error) {
    for (const buffer of buffers.created) buffer.destroy();
    throw error;
  }
}

/** Buffers of a plan that is being compiled. */
class PlanBuffers {
  readonly created: GPUBuffer[] = [];
  readonly #queue: DeviceQueue;

  constructor(queue: DeviceQueue) {
    this.#queue = queue;
  }

  async allocate(bytes: number, usageFlags: number = tensorUsage): Promise<GPUBuffer> {
    const buffer = await guardMemory(this.#queue, bytes, () => createBuffer(this.#queue, bytes, usageFlags));
    this.created.push(buffer);
    return buffer;
  }

  async filled(bytes: Uint8Array): Promise<GPUBuffer> {
    const buffer = await this.allocate(bytes.byteLength);
    const words = new Uint8Array(paddedBytes(bytes.byteLength));
    words.set(bytes);
    this.#queue.device.queue.writeBuffer(buffer, 0, words);
    return buffer;
  }
}

/** Allocates memory for the program's values except persistents. */
async function ownBuffers(
  queue: DeviceQueue,
  buffers: PlanBuffers,
  lowered: Lowered,
  { dispatches, projected }: { readonly dispatches: readonly Dispatch[]; readonly projected: ReadonlyMap<number, ProjectedStep> },
): Promise<Pick<PlanParts, "upload" | "slots" | "slotOf" | "constants">> {
  const { program, storages } = lowered;
  const temporaries = temporariesOf(lowered);
  const inputs = [...program.inputs.values()].map((id) => maxSpec(elementAt(program.values, id).spec));
  const uploaded = uploadBytes(dispatches, inputs);
  checkUpload(queue, lowered, uploaded);
  const { slots: sizes, slotOf } = planSlots(withProjectedLives(temporaries, projected));
  const slots: GPUBuffer[] = [];
  for (const bytes of sizes) slots.push(await buffers.allocate(bytes));
  const upload = await buffers.allocate(uploaded, tensorUsage | usage.uniform);
  const constants = new Map<number, GPUBuffer>();
  for (const { id, definition } of storages) {
    if (definition.kind !== "constant") continue;
    constants.set(id, await buffers.filled(toDevice(maxSpec(elementAt(program.values, id).spec), definition.data)));
  }
  return { upload, slots, slotOf, constants };
}

/** Scratch memory and tables of dispatches. A slot of scratch is one buffer for all op calls: its content ends with the call. */
async function dispatchBuffers(
  buffers: PlanBuffers,
  dispatches: readonly Dispatch[],
): Promise<{ readonly scratch: ReadonlyMap<number, GPUBuffer>; readonly tables: ReadonlyMap<Uint32Array, GPUBuffer> }> {
  const resources = dispatches.flatMap(({ bindings }) => bindings.map(({ resource }) => resource));
  const sizes = new Map<number, number>();
  for (const resource of resources) {
    if (resource.kind !== "scratch") continue;
    const slot = resource.slot ?? 0;
    sizes.set(slot, Math.max(sizes.get(slot) ?? 0, paddedBytes(resource.bytes)));
  }
  const scratch = new Map<number, GPUBuffer>();
  for (const [slot, bytes] of sizes) scratch.set(slot, await buffers.allocate(bytes));
  const tables = new Map<Uint32Array, GPUBuffer>();
  for (const resource of resources) {
    if (resource.kind !== "table" || tables.has(resource.words)) continue;
    const { buffer, byteOffset, byteLength } = resource.words;
    tables.set(resource.words, await buffers.filled(new Uint8Array(buffer, byteOffset, byteLength)));
  }
  return { scratch, tables };
}

function pieceOf(
  resource: Resource,
  step: Step,
  scratch: ReadonlyMap<number, GPUBuffer>,
  tables: ReadonlyMap<Uint32Array, GPUBuffer>,
): Piece {
  switch (resource.kind) {
    case "scratch":
      return { kind: "buffer", buffer: entryOf(scratch, resource.slot ?? 0) };
    case "table":
      return { kind: "buffer", buffer: entryOf(tables, resource.words) };
    default:
      return { kind: "operand", operand: operandOf(resource, step) };
  }
}

/**
 * The dispatches of all steps, in order. Steps that make the same call, as the layers of a model do, have the same ones. For one row, steps
 * that are `projected` have one dispatch for both where there is one.
 */
export function dispatchesOf(
  { steps }: Lowered,
  kernels: KernelTable<Kernel>,
  capabilities: Capabilities,
  projected: ReadonlyMap<number, ProjectedStep>,
): readonly StepDispatch[] {
  const known = new Map<string, readonly Dispatch[]>();
  const once = (key: string, dispatches: () => readonly Dispatch[]): readonly Dispatch[] => {
    const found = known.get(key) ?? dispatches();
    known.set(key, found);
    return found;
  };
  const bothAt = (index: number): readonly StepDispatch[] => {
    const both = projected.get(index);
    if (both === undefined) return [];
    const { step, products, write, projections } = both;
    const key = [callKey(products), callKey(write), projections.write.sources.join()].join();
    const inputs = step.inputs.map((operand) => operand?.spec);
    return once(key, () => projectionDispatches(inputs, projections, capabilities)).map((dispatch) => ({ index, step, dispatch }));
  };
  return steps.flatMap((step, index) => {
    if (writesItself(step)) return [];
    const both = bothAt(index);
    const products = both.length > 0 ? step : bothAt(index - 1).length > 0 ? elementAt(steps, index - 1) : undefined;
    const own = once(`${callKey(step)} ${products === undefined ? "" : "several"}`, () => {
      const dispatches = generate(step, kernels);
      return products === undefined ? dispatches : forRows(dispatches, products.output.spec.shape.slice(0, -1), { least: 2 });
    });
    return [...both, ...own.map((dispatch) => ({ index, step, dispatch }))];
  });
}

function generate({ op, inputs, params, output }: Step, kernels: KernelTable<Kernel>): readonly Dispatch[] {
  const kernel = kernels.kernelOf(op);
  if (kernel === undefined) throw new UnsupportedError(`webgpu: ${op.name}`, "there is no kernel");
  return kernel.dispatches({ inputs: inputs.map((operand) => operand?.spec), output: output.spec }, params);
}

/** True for a call that copies a persistent onto itself. @throws {UnsupportedError} for any other op that also reads the persistent that it writes */
function writesItself({ op, inputs }: Step): boolean {
  if (op.writes === undefined) return false;
  const target = elementAt(inputs, op.writes).storage;
  const again = inputs.some((operand, i) => i !== op.writes && operand?.storage === target);
  const isWhole = op.name === "assign" && inputs[2] === undefined;
  if (again && !isWhole) {
    throw new UnsupportedError(
      `webgpu: ${op.name}`,
      "it reads the persistent that it writes, which WebGPU refuses to bind both ways; copy it first",
    );
  }
  return again;
}

/** Storages that nodes compute, with their sizes on the device. */
function temporariesOf({ storages, steps, outputs }: Lowered): readonly Storage[] {
  const bytes = new Map<Storage, number>();
  const measure = ({ spec, storage }: Operand): void => {
    bytes.set(storage, Math.max(bytes.get(storage) ?? 0, paddedBytes(deviceBytes(maxSpec(spec)))));
  };
  for (const { inputs, output } of steps) for (const operand of [...inputs, output]) if (operand !== undefined) measure(operand);
  for (const { operand } of outputs) measure(operand);
  return storages.filter(({ definition }) => definition.kind === "node").map((storage) => ({ ...storage, bytes: entryOf(bytes, storage) }));
}
