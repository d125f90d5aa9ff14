import type { DimValues, DType, TensorSpec } from "@centella/core";
import { type ArenaPlan, elementAt, entryOf, type Lowered, type Operand, planArena, type Step, type Storage } from "@centella/core/backend";
import { type ProjectedStep, projectedSteps, withProjectedLives } from "@centella/gpu-kernels";
import type { Span } from "../device/driver.ts";
import { type Launch, type Parameter, symbolicDims } from "../kernels/shared/kernel.ts";
import { type HostStorages, hostStorages, placeHostOutputs } from "./hostOutputs.ts";
import { LaunchCache, type LaunchTarget } from "./launchCache.ts";
import { alignment, bytesAt, Layout, type Place, type Region, wordBytes } from "./place.ts";

/** One launch with its memory, as data. */
interface PlacedLaunch {
  readonly op: string;
  /** Index of the step that it computes, or a part of it. */
  readonly step: number;
  readonly launch: Launch;
  readonly args: readonly (Place & Span)[];
}

interface PlacedCopy {
  readonly spec: TensorSpec;
  readonly from: Place;
  readonly to: Place;
  readonly bytes: number;
}

/** The place of an input, and its dtype there. */
interface InputPlace extends Place {
  readonly dtype: DType;
}

/** All work of a variant in a run, as data from which a CUDA graph is recorded. */
export interface VariantPlan {
  readonly uploadBytes: number;
  /** Bytes of the host outputs. */
  readonly readbackBytes: number;
  /** Whether launches store them to page-locked memory: `results`. Otherwise a run copies `readback`. */
  readonly storesResults: boolean;
  readonly givenBytes: number;
  /** Where inputs go: in the upload block, or in the `given` block. Unused inputs have no place. */
  readonly inputs: ReadonlyMap<string, InputPlace>;
  readonly launches: readonly PlacedLaunch[];
  /** Copies to `readback` of outputs that no launch writes there. */
  readonly copies: readonly PlacedCopy[];
  /** By name, in the program's order. */
  readonly hostOutputs: ReadonlyMap<string, Place>;
  readonly deviceOutputs: ReadonlyMap<string, Place>;
}

/** What the variants of a program have in common. */
export interface VariantSource {
  readonly lowered: Lowered;
  /** Steps that may run with the one after them. */
  readonly projected: ReadonlyMap<number, ProjectedStep>;
  /** Bytes of the temporaries. */
  readonly arenaBytes: number;
  /** Places of all but inputs and host outputs, which depend on the bucket. */
  readonly places: ReadonlyMap<Storage, Place>;
  readonly hostStorages: HostStorages;
  readonly launches: LaunchCache;
  readonly unitsOf: LaunchTarget["unitsOf"];
}

const arenaRegion: Region = { kind: "arena" };

/** Returns the symbolic dims that a step or an output depends on, and that a run must bind. */
export function usedDims({ steps, outputs }: Lowered): ReadonlySet<string> {
  const operands = [...steps.flatMap(({ inputs, output }) => [...inputs, output]), ...outputs.map(({ operand }) => operand)];
  return new Set(symbolicDims(operands.map((operand) => operand?.spec)));
}

/** Places the temporaries, except for host outputs. */
export function variantSource(lowered: Lowered, target: LaunchTarget): VariantSource {
  const host = hostStorages(lowered);
  const readBack = new Set(host.byOutput.values());
  const temporaries = lowered.storages.filter((storage) => storage.definition.kind === "node" && !readBack.has(storage));
  const slots = new Map([...lowered.program.dims.keys()].map((name, slot) => [name, slot]));
  const projected = projectedSteps(lowered);
  const arena = planArena(withProjectedLives(temporaries, projected), alignment);
  const written = new Set(lowered.steps.flatMap(writtenBy));
  const places = new Map(lowered.storages.flatMap((storage) => placeIn(arena, storage).map((place) => [storage, place])));
  const launches = new LaunchCache(slots, target, written);
  return { lowered, projected, arenaBytes: arena.bytes, places, hostStorages: host, launches, unitsOf: target.unitsOf };
}

/** The place of a storage in any variant, if there is one. */
function placeIn({ offsets }: ArenaPlan, { id, definition }: Storage): readonly Place[] {
  if (definition.kind === "persistent") return [{ region: { kind: "persistent", name: definition.name }, offset: 0 }];
  if (definition.kind === "constant") return [{ region: { kind: "constant", storage: id }, offset: 0 }];
  const offset = offsets.get(id);
  return offset === undefined ? [] : [{ region: arenaRegion, offset }];
}

/** Places the memory of a variant and of its launches. Steps that write nothing at the bucket have no launches. */
export function planVariant(source: VariantSource, bucket: DimValues, given: ReadonlySet<string>): VariantPlan {
  const { lowered, places, unitsOf } = source;
  const upload = new Layout({ kind: "upload" });
  const dimBytes = 4 * lowered.program.dims.size;
  const dims = { ...upload.add(dimBytes), bytes: dimBytes, isWritten: false };
  const tensors = new Layout({ kind: "given" });

  const inputs = new Map<string, InputPlace>();
  for (const { definition } of lowered.storages) {
    if (definition.kind !== "input") continue;
    const { spec } = elementAt(lowered.program.values, entryOf(lowered.program.inputs, definition.name));
    const place = (given.has(definition.name) ? tensors : upload).add(bytesAt(spec, bucket));
    inputs.set(definition.name, { ...place, dtype: spec.dtype });
  }

  const launches = stepLaunches(source, bucket);
  const reread = launches.flatMap(({ step, launch }) => (launch.readsOutputs ? writtenBy(step) : []));
  const host = placeHostOutputs(lowered, source.hostStorages, new Set(reread), bucket);
  const placeOf = (storage: Storage): Place =>
    storage.definition.kind === "input"
      ? entryOf(inputs, storage.definition.name)
      : (host.storages.get(storage) ?? entryOf(places, storage));
  const deviceOutputs = new Map<string, Place>();
  const copies: PlacedCopy[] = [];
  for (const { name, to, operand } of lowered.outputs) {
    const from = placeOf(operand.storage);
    if (to === "device") deviceOutputs.set(name, from);
    else copies.push({ spec: operand.spec, from, to: entryOf(host.outputs, name), bytes: bytesAt(operand.spec, bucket) });
  }
  const needed = copies.filter(({ from, to, bytes }) => from !== to && bytes > 0);

  const memory: StepMemory = { bucket, dims, scratch: { region: { kind: "scratch" }, offset: 0 }, placeOf, unitsOf };
  const placed = launches.map(
    ({ index, step, launch }): PlacedLaunch => ({ op: step.op.name, step: index, launch, args: placeArguments(step, launch, memory) }),
  );
  return {
    uploadBytes: upload.bytes,
    readbackBytes: host.bytes,
    storesResults: host.areStored,
    givenBytes: tensors.bytes,
    inputs,
    launches: host.areStored ? [...placed, ...needed.map((copy) => placeCopy(source, memory, copy))] : placed,
    copies: host.areStored ? [] : needed,
    hostOutputs: host.outputs,
    deviceOutputs,
  };
}

/** A launch after all steps that copies an output. */
function placeCopy(
  { lowered, launches }: VariantSource,
  { bucket, dims }: StepMemory,
  { spec, from, to, bytes }: PlacedCopy,
): PlacedLaunch {
  const launch = launches.copyOf(spec, bucket);
  const span = { bytes: wordBytes(bytes) };
  const places = [{ ...from, ...span, isWritten: false }, { ...to, ...span, isWritten: true }, dims];
  return { op: "copy", step: lowered.steps.length, launch, args: places.slice(0, launch.args.length) };
}

interface StepLaunch {
  /** Index of the step, or of the first one of those that run together. */
  readonly index: number;
  readonly step: Step;
  readonly launch: Launch;
}

/** The launches of all steps in order. */
function stepLaunches({ lowered: { steps }, projected, launches: cache }: VariantSource, bucket: DimValues): readonly StepLaunch[] {
  const launches = cache.at(bucket);
  const found: StepLaunch[] = [];
  const add = (index: number, step: Step, own: readonly Launch[]): void => {
    for (const launch of own) found.push({ index, step, launch });
  };
  for (let index = 0; index < steps.length; index++) {
    const step = elementAt(steps, index);
    if (writesNothing(step, bucket)) continue;
    const together = projected.get(index);
    const joint = together && launches.projectionsOf(together);
    if (together === undefined || joint === undefined) add(index, step, launches.launchesOf(step));
    // The write is done with the products.
    else add(index++, together.step, joint);
  }
  return found;
}

/** What a step writes. */
function writtenBy({ output, extraOutputs = [] }: Step): readonly Storage[] {
  return [output, ...extraOutputs].map(({ storage }) => storage);
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
    return { ...placeOf(storage), bytes: isWritten ? wordBytes(bytes) : bytes, isWritten };
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
    ...launches.flatMap(({ args }) => args.map(({ region, offset, bytes }) => (region.kind === "scratch" ? offset + bytes : 0))),
  );
}
