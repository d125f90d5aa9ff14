import { type DimValues, type TensorSpec, UnsupportedError } from "@centella/core";
import {
  bucketOf,
  elementAt,
  elementCount,
  entryOf,
  type Lowered,
  type Operand,
  planArena,
  resolveSpec,
  type Step,
  type Storage,
} from "@centella/core/backend";
import type { Span } from "../device/driver.ts";
import { isDecoded, residentBytes } from "../device/resident.ts";
import { kernelOf } from "../kernels/index.ts";
import type { KernelCall, Launch, Parameter } from "../kernels/shared/kernel.ts";

/** A place in one of a plan's pieces of memory. */
export interface Place {
  readonly region: Region;
  readonly offset: number;
}

/** A plan's memory: `upload` receives a run's host inputs, `given` copies of its inputs on the device, `readback` host outputs. */
type Region =
  | { readonly kind: "arena" | "upload" | "given" | "readback" }
  | { readonly kind: "persistent"; readonly name: string }
  | { readonly kind: "constant"; readonly storage: number };

/** One launch with its memory, as data. */
interface PlacedLaunch {
  readonly op: string;
  readonly launch: Launch;
  readonly args: readonly (Place & Span)[];
}

interface PlacedCopy {
  readonly from: Place;
  readonly to: Place;
  readonly bytes: number;
}

/** All work of a variant in a run, as data from which a CUDA graph is recorded. */
export interface VariantPlan {
  readonly uploadBytes: number;
  readonly readbackBytes: number;
  readonly givenBytes: number;
  /** Where inputs go: in the upload block, or in the `given` block. Unused inputs have no place. */
  readonly inputs: ReadonlyMap<string, Place>;
  readonly launches: readonly PlacedLaunch[];
  /** Copies of outputs that no launch writes to the place they are read from. */
  readonly copies: readonly PlacedCopy[];
  readonly outputs: ReadonlyMap<string, Place>;
}

/** Offsets of temporaries, for all variants of a plan. */
export interface ArenaLayout {
  readonly offsets: ReadonlyMap<number, number>;
  readonly bytes: number;
}

/** Alignment of every place: that of `cuMemAlloc`. */
const alignment = 256;

function align(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Buckets of a dim: powers of two, then its maximum. Ascending. */
export function bucketsOf(max: number): readonly number[] {
  const buckets: number[] = [];
  for (let bucket = 1; bucket < max; bucket *= 2) buckets.push(bucket);
  return [...buckets, max];
}

/** The bucket of each dim that the program declares; dims that a run does not bind count as 0. */
export function bucketFor({ program }: Lowered, dims: DimValues): DimValues {
  return Object.fromEntries([...program.dims].map(([name, { max }]) => [name, bucketOf(bucketsOf(max), dims[name] ?? 0)]));
}

/** Returns the symbolic dims that a step or an output depends on, and that a run must bind. */
export function usedDims({ steps, outputs }: Lowered): ReadonlySet<string> {
  const operands = [...steps.flatMap(({ inputs, output }) => [...inputs, output]), ...outputs.map(({ operand }) => operand)];
  return new Set(operands.flatMap((operand) => operand?.spec.shape ?? []).flatMap((dim) => (typeof dim === "number" ? [] : [dim.name])));
}

/** Places the temporaries. Those that the host reads back are in the readback block instead. */
export function arenaLayout(lowered: Lowered): ArenaLayout {
  const readBack = new Set(readBackStorages(lowered).values());
  const temporaries = lowered.storages.filter((storage) => storage.definition.kind === "node" && !readBack.has(storage));
  return planArena(temporaries, alignment);
}

/** @throws {UnsupportedError} for outputs that have no form in device memory */
export function requireReadable({ outputs }: Lowered): void {
  for (const { name, operand } of outputs) {
    if (isDecoded(operand.spec.dtype)) {
      throw new UnsupportedError(
        `cuda: output ${name}`,
        `${operand.spec.dtype} tensors are held as f32 on the device; save() returns their stored form`,
      );
    }
  }
}

/** Generates the launches of a variant and places their memory. Pure. */
export function planVariant(lowered: Lowered, arena: ArenaLayout, bucket: DimValues, given: ReadonlySet<string>): VariantPlan {
  const slots = new Map([...lowered.program.dims.keys()].map((name, slot) => [name, slot]));
  const upload = new Layout({ kind: "upload" });
  const dims = upload.add(slots.size * 4);
  const tensors = new Layout({ kind: "given" });
  const readback = new Layout({ kind: "readback" });

  const inputs = new Map<string, Place>();
  for (const { definition } of lowered.storages) {
    if (definition.kind !== "input") continue;
    const { spec } = elementAt(lowered.program.values, entryOf(lowered.program.inputs, definition.name));
    inputs.set(definition.name, (given.has(definition.name) ? tensors : upload).add(bytesAt(spec, bucket)));
  }

  const direct = readBackStorages(lowered);
  const places = new Map<Storage, Place>();
  const outputs = new Map<string, Place>();
  for (const { name, to, operand } of lowered.outputs) {
    if (to !== "host") continue;
    const place = readback.add(bytesAt(operand.spec, bucket));
    outputs.set(name, place);
    const storage = direct.get(name);
    if (storage !== undefined) places.set(storage, place);
  }
  const placeOf = (storage: Storage): Place => {
    const { definition } = storage;
    switch (definition.kind) {
      case "input":
        return entryOf(inputs, definition.name);
      case "persistent":
        return { region: { kind: "persistent", name: definition.name }, offset: 0 };
      case "constant":
        return { region: { kind: "constant", storage: storage.id }, offset: 0 };
      case "node":
        return places.get(storage) ?? { region: { kind: "arena" }, offset: entryOf(arena.offsets, storage.id) };
    }
  };
  for (const { name, to, operand } of lowered.outputs) if (to === "device") outputs.set(name, placeOf(operand.storage));

  const memory: StepMemory = { slots, bucket, dims, scratch: { region: { kind: "arena" }, offset: align(arena.bytes) }, placeOf };
  const launches = lowered.steps.flatMap((step) => placeLaunches(step, memory));
  const copies = lowered.outputs.flatMap(({ name, to, operand }): PlacedCopy[] => {
    if (to !== "host" || direct.has(name)) return [];
    return [{ from: placeOf(operand.storage), to: entryOf(outputs, name), bytes: bytesAt(operand.spec, bucket) }];
  });
  return { uploadBytes: upload.bytes, readbackBytes: readback.bytes, givenBytes: tensors.bytes, inputs, launches, copies, outputs };
}

/** What the launches of a step refer to. */
interface StepMemory extends Pick<KernelCall, "slots" | "bucket"> {
  /** The buffer of dims. */
  readonly dims: Place;
  readonly scratch: Place;
  placeOf(storage: Storage): Place;
}

/** Generates the launches of a step, and places their arguments. */
function placeLaunches({ op, inputs, params, output, extraOutputs }: Step, memory: StepMemory): readonly PlacedLaunch[] {
  const { slots, bucket, dims, scratch, placeOf } = memory;
  const tensor = ({ spec, storage }: Operand, isWritten: boolean): Place & Span => {
    const bytes = bytesAt(spec, bucket);
    // Elements of less than 32 bits are written word by word; the rest of the last word is unused.
    return { ...placeOf(storage), bytes: isWritten ? 4 * Math.ceil(bytes / 4) : bytes, isWritten };
  };
  const place = (argument: Parameter): Place & Span => {
    switch (argument.kind) {
      case "input":
        return tensor(elementAt(inputs, argument.index), false);
      case "output":
        return tensor(output, true);
      case "extraOutput":
        return tensor(elementAt(extraOutputs ?? [], argument.index), true);
      case "scratch":
        return { ...scratch, offset: scratch.offset + (argument.offset ?? 0), bytes: argument.bytes, isWritten: true };
      case "dims":
        return { ...dims, bytes: 4 * slots.size, isWritten: false };
    }
  };
  const kernel = kernelOf(op);
  if (kernel === undefined) throw new UnsupportedError(`cuda: ${op.name}`, "there is no kernel");
  const call: KernelCall = { inputs: inputs.map((operand) => operand?.spec), output: output.spec, slots, bucket };
  return kernel.launches(call, params).map((launch) => ({ op: op.name, launch, args: launch.args.map(place) }));
}

/** Bytes of scratch memory that a variant's launches need, after the arena. */
export function scratchBytes({ launches }: VariantPlan): number {
  return Math.max(
    0,
    ...launches.flatMap(({ launch }) =>
      launch.args.map((argument) => (argument.kind === "scratch" ? (argument.offset ?? 0) + argument.bytes : 0)),
    ),
  );
}

/** Bytes of a tensor in device memory with its symbolic dims at the given values. */
export function bytesAt(spec: TensorSpec, dims: DimValues): number {
  return residentBytes(spec.dtype, elementCount(resolveSpec(spec, dims).shape));
}

/** Storages that can be in the readback block, by the name of their host output: the first one of each temporary. */
function readBackStorages({ outputs }: Lowered): ReadonlyMap<string, Storage> {
  const found = new Map<string, Storage>();
  const taken = new Set<Storage>();
  for (const { name, to, operand } of outputs) {
    const { storage }: Operand = operand;
    if (to !== "host" || storage.definition.kind !== "node" || taken.has(storage)) continue;
    taken.add(storage);
    found.set(name, storage);
  }
  return found;
}

/** Allocates consecutive aligned places of a region. */
class Layout {
  readonly #region: Region;
  bytes = 0;
  constructor(region: Region) {
    this.#region = region;
  }
  add(bytes: number): Place {
    const place = { region: this.#region, offset: this.bytes };
    this.bytes += align(bytes);
    return place;
  }
}
