import { type DimValues, type DType, type TensorSpec, UnsupportedError } from "@centella/core";
import {
  type ArenaPlan,
  elementAt,
  entryOf,
  type Lowered,
  type Operand,
  planArena,
  resolveSpec,
  type Step,
  type Storage,
} from "@centella/core/backend";
import { deviceBytes, type ProjectedStep, projectedSteps, recodedTo, withProjectedLives } from "@centella/gpu-kernels";
import type { Span } from "../device/driver.ts";
import { type Launch, type Parameter, symbolicDims } from "../kernels/shared/kernel.ts";
import { type BucketLaunches, LaunchCache, type LaunchTarget } from "./launchCache.ts";

/** A place in one of a plan's pieces of memory. */
export interface Place {
  readonly region: Region;
  readonly offset: number;
}

/**
 * A plan's memory: `scratch` is each step's own while it runs, `upload` receives a run's host inputs, `given` copies of its inputs on the
 * device, `readback` host outputs.
 */
type Region =
  | { readonly kind: "arena" | "scratch" | "upload" | "given" | "readback" }
  | { readonly kind: "persistent"; readonly name: string }
  | { readonly kind: "constant"; readonly storage: number };

/** One launch with its memory, as data. */
interface PlacedLaunch {
  readonly op: string;
  /** Index of the step that it computes, or a part of it. */
  readonly step: number;
  readonly launch: Launch;
  readonly args: readonly (Place & Span)[];
}

interface PlacedCopy {
  readonly from: Place;
  readonly to: Place;
  readonly bytes: number;
}

/** The place of an input, and its dtype there. */
export interface InputPlace extends Place {
  readonly dtype: DType;
}

/** All work of a variant in a run, as data from which a CUDA graph is recorded. */
export interface VariantPlan {
  readonly uploadBytes: number;
  readonly readbackBytes: number;
  readonly givenBytes: number;
  /** Where inputs go: in the upload block, or in the `given` block. Unused inputs have no place. */
  readonly inputs: ReadonlyMap<string, InputPlace>;
  readonly launches: readonly PlacedLaunch[];
  /** Copies of outputs that no launch writes to the place they are read from. */
  readonly copies: readonly PlacedCopy[];
  readonly outputs: ReadonlyMap<string, Place>;
}

/** What the variants of a program have in common. */
export interface VariantSource {
  readonly lowered: Lowered;
  /** Steps that may run with the one after them. */
  readonly projected: ReadonlyMap<number, ProjectedStep>;
  /** Bytes of the temporaries. */
  readonly arenaBytes: number;
  /** Places of all but inputs and what the host reads back, which depend on the bucket. */
  readonly places: ReadonlyMap<Storage, Place>;
  readonly launches: LaunchCache;
  readonly unitsOf: LaunchTarget["unitsOf"];
}

const arenaRegion: Region = { kind: "arena" };

/** Alignment of places of that size and more: that of `cuMemAlloc`. */
const alignment = 256;

/** Returns the symbolic dims that a step or an output depends on, and that a run must bind. */
export function usedDims({ steps, outputs }: Lowered): ReadonlySet<string> {
  const operands = [...steps.flatMap(({ inputs, output }) => [...inputs, output]), ...outputs.map(({ operand }) => operand)];
  return new Set(symbolicDims(operands.map((operand) => operand?.spec)));
}

/** Places the temporaries. Those that the host reads back are in the readback block instead. */
export function variantSource(lowered: Lowered, target: LaunchTarget): VariantSource {
  const readBack = new Set(readBackStorages(lowered).values());
  const temporaries = lowered.storages.filter((storage) => storage.definition.kind === "node" && !readBack.has(storage));
  const slots = new Map([...lowered.program.dims.keys()].map((name, slot) => [name, slot]));
  const projected = projectedSteps(lowered);
  const arena = planArena(withProjectedLives(temporaries, projected), alignment);
  const written = new Set(
    lowered.steps.flatMap(({ output, extraOutputs = [] }) => [output, ...extraOutputs].map(({ storage }) => storage)),
  );
  const places = new Map(lowered.storages.flatMap((storage) => placeIn(arena, storage).map((place) => [storage, place])));
  const launches = new LaunchCache(slots, target, written);
  return { lowered, projected, arenaBytes: arena.bytes, places, launches, unitsOf: target.unitsOf };
}

/** The place of a storage in any variant, if there is one. */
function placeIn({ offsets }: ArenaPlan, { id, definition }: Storage): readonly Place[] {
  if (definition.kind === "persistent") return [{ region: { kind: "persistent", name: definition.name }, offset: 0 }];
  if (definition.kind === "constant") return [{ region: { kind: "constant", storage: id }, offset: 0 }];
  const offset = offsets.get(id);
  return offset === undefined ? [] : [{ region: arenaRegion, offset }];
}

/** @throws {UnsupportedError} for outputs that have no form in device memory */
export function requireReadable({ outputs }: Lowered): void {
  for (const { name, operand } of outputs) {
    const form = recodedTo(operand.spec.dtype);
    if (form !== undefined) {
      throw new UnsupportedError(
        `cuda: output ${name}`,
        `the device holds ${operand.spec.dtype} tensors as ${form}; save() returns their stored form`,
      );
    }
  }
}

/** Places the memory of a variant and of its launches. Steps that write nothing at the bucket have no launches. */
export function planVariant(
  { lowered, projected, places, launches, unitsOf }: VariantSource,
  bucket: DimValues,
  given: ReadonlySet<string>,
): VariantPlan {
  const upload = new Layout({ kind: "upload" });
  const dimBytes = 4 * lowered.program.dims.size;
  const dims = { ...upload.add(dimBytes), bytes: dimBytes, isWritten: false };
  const tensors = new Layout({ kind: "given" });
  const readback = new Layout({ kind: "readback" });

  const inputs = new Map<string, InputPlace>();
  for (const { definition } of lowered.storages) {
    if (definition.kind !== "input") continue;
    const { spec } = elementAt(lowered.program.values, entryOf(lowered.program.inputs, definition.name));
    const place = (given.has(definition.name) ? tensors : upload).add(bytesAt(spec, bucket));
    inputs.set(definition.name, { ...place, dtype: spec.dtype });
  }

  const direct = readBackStorages(lowered);
  const read = new Map<Storage, Place>();
  const outputs = new Map<string, Place>();
  for (const { name, to, operand } of lowered.outputs) {
    if (to !== "host") continue;
    const place = readback.add(bytesAt(operand.spec, bucket));
    outputs.set(name, place);
    const storage = direct.get(name);
    if (storage !== undefined) read.set(storage, place);
  }
  const placeOf = (storage: Storage): Place =>
    storage.definition.kind === "input" ? entryOf(inputs, storage.definition.name) : (read.get(storage) ?? entryOf(places, storage));
  for (const { name, to, operand } of lowered.outputs) if (to === "device") outputs.set(name, placeOf(operand.storage));

  const memory: StepMemory = { bucket, dims, scratch: { region: { kind: "scratch" }, offset: 0 }, placeOf, unitsOf };
  const placed = placeLaunches({ lowered, projected }, launches.at(bucket), memory);
  const copies = lowered.outputs.flatMap(({ name, to, operand }): PlacedCopy[] => {
    if (to !== "host" || direct.has(name)) return [];
    return [{ from: placeOf(operand.storage), to: entryOf(outputs, name), bytes: bytesAt(operand.spec, bucket) }];
  });
  return { uploadBytes: upload.bytes, readbackBytes: readback.bytes, givenBytes: tensors.bytes, inputs, launches: placed, copies, outputs };
}

/** Places the launches of all steps in order. */
function placeLaunches(
  { lowered: { steps }, projected }: Pick<VariantSource, "lowered" | "projected">,
  launches: BucketLaunches,
  memory: StepMemory,
): readonly PlacedLaunch[] {
  const { bucket } = memory;
  const placed: PlacedLaunch[] = [];
  const place = (index: number, step: Step, own: readonly Launch[]): void => {
    for (const launch of own) placed.push({ op: step.op.name, step: index, launch, args: placeArguments(step, launch, memory) });
  };
  for (let index = 0; index < steps.length; index++) {
    const step = elementAt(steps, index);
    if (writesNothing(step, bucket)) continue;
    const together = projected.get(index);
    const joint = together && launches.projectionsOf(together);
    if (together === undefined || joint === undefined) place(index, step, launches.launchesOf(step));
    // The write is done with the products.
    else place(index++, together.step, joint);
  }
  return placed;
}

/** Whether the results of a step are empty at the bucket, or what it writes to rows of a persistent. */
function writesNothing({ output, extraOutputs = [], inputs }: Step, bucket: DimValues): boolean {
  const isEmpty = (operand: Operand | undefined): boolean => operand !== undefined && bytesAt(operand.spec, bucket) === 0;
  return [output, ...extraOutputs].every(isEmpty) || (output.storage.definition.kind === "persistent" && inputs.some(isEmpty));
}

/** What the launches of a step refer to. */
interface StepMemory {
  readonly bucket: DimValues;
  /** The buffer of dims. */
  readonly dims: Place & Span;
  readonly scratch: Place;
  placeOf(storage: Storage): Place;
  readonly unitsOf: LaunchTarget["unitsOf"];
}

/** Places the arguments of a step's launch. */
function placeArguments({ inputs, output, extraOutputs }: Step, { args }: Launch, memory: StepMemory): PlacedLaunch["args"] {
  const { bucket, dims, scratch, placeOf, unitsOf } = memory;
  const tensor = ({ spec, storage }: Operand, isWritten: boolean): Place & Span => {
    const { definition } = storage;
    const units = definition.kind === "persistent" ? unitsOf(definition.name) : undefined;
    const bytes = units?.bytes ?? bytesAt(spec, bucket);
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
        return dims;
    }
  };
  return args.map(place);
}

/** Bytes of scratch memory that a variant's launches need. Few rows may need more than many: several blocks share each long row then. */
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
  return deviceBytes(resolveSpec(spec, dims));
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

/** Allocates consecutive places of a region. Tensors below {@link alignment} are aligned to the next power of two, to keep transfers small. */
class Layout {
  readonly #region: Region;
  bytes = 0;
  constructor(region: Region) {
    this.#region = region;
  }
  add(bytes: number): Place {
    let multiple = 4;
    while (multiple < bytes && multiple < alignment) multiple *= 2;
    const offset = Math.ceil(this.bytes / multiple) * multiple;
    // Kernels write whole words.
    this.bytes = offset + 4 * Math.ceil(bytes / 4);
    return { region: this.#region, offset };
  }
}
