import {
  formatSpec,
  isQuantized,
  type Lowered,
  maxSpec,
  type Operand,
  OutOfMemoryError,
  planSlots,
  type Step,
  type Storage,
  UnsupportedError,
} from "@centella/core";
import { createBuffer, guardMemory, tensorUsage } from "./buffers.ts";
import { type Piece, type PlannedDispatch, uploadBytes } from "./instance.ts";
import type { Kernel } from "./kernel.ts";
import { kernelOf } from "./kernels/index.ts";
import { deviceBytes, formatBytes, paddedBytes, toDevice } from "./layout.ts";
import { Cell, decodingWarnings } from "./persistents.ts";
import type { PlanParts } from "./plan.ts";
import type { DeviceQueue } from "./queue.ts";
import { usage } from "./usage.ts";

/**
 * Compiles a lowered program: kernels to pipelines, storages to buffers.
 * @throws {KernelError | OutOfMemoryError | UnsupportedError}
 */
export async function compileProgram(
  queue: DeviceQueue,
  lowered: Lowered,
  shared: ReadonlyMap<string, Cell> | undefined,
): Promise<PlanParts> {
  const { program, steps, outputs } = lowered;
  for (const { name, operand } of outputs) {
    if (isQuantized(operand.spec.dtype)) {
      throw new UnsupportedError(
        `webgpu: output ${name}`,
        `${formatSpec(operand.spec)} is held as f32 on the device; read its source instead`,
      );
    }
  }
  const calls = steps.flatMap((step) => kernelsOf(step).map((kernel) => ({ step, kernel })));
  const pipelines = await Promise.all(calls.map(({ step, kernel }) => queue.pipelines.get(step.op.name, kernel)));

  const made: GPUBuffer[] = [];
  const newCells: Cell[] = [];
  const allocate = async (bytes: number, usageFlags: number): Promise<GPUBuffer> => {
    const buffer = await guardMemory(queue.device, bytes, () => createBuffer(queue.device, bytes, usageFlags));
    made.push(buffer);
    return buffer;
  };
  try {
    const cells = new Map<string, Cell>();
    for (const persistent of program.persistents.values()) {
      const known = shared?.get(persistent.name);
      if (known !== undefined && formatSpec(known.spec) === formatSpec(persistent.spec)) cells.set(persistent.name, known);
      else {
        const cell = await Cell.create(queue, persistent);
        newCells.push(cell);
        cells.set(persistent.name, cell);
      }
    }

    const temporaries = temporariesOf(lowered);
    for (const { bytes } of temporaries) checkBinding(queue, bytes);
    const { slots, slotOf } = planSlots(temporaries);
    const slotBuffers: GPUBuffer[] = [];
    for (const bytes of slots) slotBuffers.push(await allocate(bytes, tensorUsage));

    const inputs = [...program.inputs.values()].map((id) => maxSpec(program.values[id]!.spec));
    for (const spec of inputs) checkBinding(queue, deviceBytes(spec));
    const kernels = calls.map(({ kernel }) => kernel);
    const upload = await allocate(uploadBytes(kernels, inputs), tensorUsage | usage.uniform);

    const constants = new Map<number, GPUBuffer>();
    for (const { id, definition } of lowered.storages) {
      if (definition.kind !== "constant") continue;
      const spec = maxSpec(program.values[id]!.spec);
      constants.set(id, await filled(toDevice(spec, definition.data)));
    }

    const scratchBytes = Math.max(0, ...kernels.map(scratchOf));
    const scratch = scratchBytes > 0 ? await allocate(scratchBytes, tensorUsage) : undefined;
    const tables = new Map<Uint32Array, GPUBuffer>();
    for (const table of kernels.flatMap(tablesOf)) {
      if (!tables.has(table)) tables.set(table, await filled(new Uint8Array(table.buffer, table.byteOffset, table.byteLength)));
    }
    const dispatches = calls.map(({ step, kernel }, i): PlannedDispatch => {
      const pieces = kernel.bindings.map(({ resource }): Piece => {
        switch (resource.kind) {
          case "input":
            return { kind: "operand", operand: step.inputs[resource.index]! };
          case "output":
            return { kind: "operand", operand: step.output };
          case "scratch":
            return { kind: "buffer", buffer: scratch! };
          case "table":
            return { kind: "buffer", buffer: tables.get(resource.words)! };
        }
      });
      return { op: step.op.name, kernel, pipeline: pipelines[i]!, pieces };
    });
    const buffers = [...slotBuffers, ...constants.values(), ...tables.values(), upload, ...(scratch === undefined ? [] : [scratch])];
    return {
      lowered,
      warnings: decodingWarnings(program.persistents.values()),
      dispatches,
      cells,
      upload,
      slots: slotBuffers,
      slotOf,
      constants,
      buffers,
    };
  } catch (error) {
    for (const buffer of made) buffer.destroy();
    for (const { buffer } of newCells) buffer.destroy();
    throw error;
  }

  async function filled(bytes: Uint8Array): Promise<GPUBuffer> {
    const buffer = await allocate(bytes.byteLength, tensorUsage);
    const words = new Uint8Array(paddedBytes(bytes.byteLength));
    words.set(bytes);
    queue.device.queue.writeBuffer(buffer, 0, words);
    return buffer;
  }
}

function kernelsOf(step: Step): readonly Kernel[] {
  const { op, inputs, params, output } = step;
  if (writesItself(step)) return [];
  const specs = inputs.map((operand) => operand?.spec);
  return kernelOf(op.name)!.build({ inputs: specs, params, output: output.spec });
}

/** True for an op that copies a persistent onto itself. @throws {UnsupportedError} for other reads of what the op writes */
function writesItself({ op, inputs }: Step): boolean {
  if (op.writes === undefined) return false;
  const target = inputs[op.writes]!.storage;
  const again = inputs.some((operand, i) => i !== op.writes && operand?.storage === target);
  if (again && op.name !== "assign") {
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
  return storages.filter(({ definition }) => definition.kind === "node").map((storage) => ({ ...storage, bytes: bytes.get(storage)! }));
}

function checkBinding(queue: DeviceQueue, bytes: number): void {
  const limit = queue.device.limits.maxStorageBufferBindingSize;
  if (bytes > limit) {
    throw new OutOfMemoryError(
      queue.name,
      bytes,
      limit,
      `${formatBytes(limit)} is the device's limit for one tensor; give symbolic dims smaller maxima`,
    );
  }
}

function scratchOf({ bindings }: Kernel): number {
  return Math.max(0, ...bindings.map(({ resource }) => (resource.kind === "scratch" ? paddedBytes(resource.bytes) : 0)));
}

function tablesOf({ bindings }: Kernel): readonly Uint32Array[] {
  return bindings.flatMap(({ resource }) => (resource.kind === "table" ? [resource.words] : []));
}
