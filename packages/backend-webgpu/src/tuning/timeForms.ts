import { type ConcreteSpec, type DimValues, type DType, KernelError, OutOfMemoryError } from "@centella/core";
import { decode, elementAt, entryOf, isInteger, type Operand, type ProgramGraph, resolveSpec } from "@centella/core/backend";
import { createBuffer, guardMemory, type Region, tensorUsage } from "../device/buffers.ts";
import { deviceBytes, paddedBytes, roundUp } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { usage } from "../device/usage.ts";
import type { Dispatch } from "../kernels/shared/kernel.ts";
import { submitTimed } from "../plan/timeSteps.ts";
import {
  encodeDispatches,
  grid,
  type Piece,
  type PlannedDispatch,
  packUniforms,
  type ReadyDispatch,
  uniformPlaces,
} from "../plan/variant.ts";
import { type FormedPlanned, inForm, isWeight, type Tuning, untimed } from "./tuning.ts";

/** Numbers of rows for which forms are timed: the first one for which a dispatch runs. */
const rowCounts = [1, 4, 8, 16, 64];

/**
 * Bytes of weights that a pass reads, more than caches hold: dispatches of one text are timed one after the other, each on weights of its
 * own, as the layers of a model have them, or on copies. A plan with fewer weights may find them in a cache in its runs too.
 */
const coldBytes = 2 ** 27;

/** Most dispatches of a round. */
const mostPlaces = 256;

/** Microseconds that a pass should take: pages have timestamps in units of 100. A pass has up to so many rounds. */
const passMicroseconds = 2000;
const mostRounds = 64;

/** How often passes are timed. The shortest time counts. */
const repeats = 5;

/**
 * The share of the table's form below which a time must be, twice, for another form to be chosen. Times scatter, and kernels that run between others
 * gain less than alone.
 */
const leastGain = 0.9;

/** Largest difference of results, as a share of the largest one: sums in another order, rounded to f16 in a cache. */
const tolerance = 2e-3;

/** Bytes of a result that are compared. */
const comparedBytes = 2 ** 22;

/** What is timed: dispatches of a plan whose weights are loaded. */
export interface TimedPlan {
  readonly dispatches: readonly PlannedDispatch[];
  readonly program: Pick<ProgramGraph, "dims" | "persistents">;
  /** Where a persistent or a constant is. */
  regionOf(operand: Operand): Region;
}

/** Times the forms of all dispatches whose form was not chosen, and chooses the fastest ones with the same results. */
export async function timeForms(queue: DeviceQueue, tuning: Tuning, plan: TimedPlan): Promise<void> {
  const groups = new Map<string, FormedPlanned[]>();
  for (const planned of untimed(tuning, plan.dispatches)) {
    const key = tuning.keyOf(planned.dispatch);
    groups.set(key, [...(groups.get(key) ?? []), planned]);
  }
  const timers = [...groups.values()].flatMap((places) => {
    const dims = dimsOf(elementAt(places, 0).dispatch, plan.program.dims);
    return dims === undefined ? [] : [{ places, timer: new FormTimer(queue, dims, plan) }];
  });
  // Compilers use all processors.
  const forms = await Promise.all(timers.map(({ places }) => formsOf(queue, elementAt(places, 0))));
  for (const [i, { places, timer }] of timers.entries()) {
    const fastest = await timer.fastestOf(places, elementAt(forms, i));
    if (fastest !== undefined) await tuning.choose(elementAt(places, 0).dispatch, fastest);
  }
}

/** Extents for which a dispatch runs: few ones. */
function dimsOf({ sizeIn }: Dispatch, dims: ProgramGraph["dims"]): DimValues | undefined {
  const all = [...dims];
  return rowCounts
    .map((rows): DimValues => Object.fromEntries(all.map(([name, { max }]) => [name, Math.min(max, rows)])))
    .find((values) => sizeIn(values).groups > 0);
}

/** A form that can be timed. */
interface TimedForm {
  readonly op: string;
  readonly name: string;
  readonly dispatch: Dispatch;
  readonly pipeline: GPUComputePipeline;
}

/** A dispatch's own form and those that the device compiles. */
async function formsOf(queue: DeviceQueue, { op, dispatch }: FormedPlanned): Promise<readonly TimedForm[]> {
  const { own, others } = dispatch.forms();
  const all = [{ name: own, dispatch: dispatch as Dispatch }, ...others.map((name) => ({ name, dispatch: inForm(dispatch, name) }))];
  const compiled = all.map(async (form): Promise<TimedForm | undefined> => {
    try {
      return { ...form, op, pipeline: await queue.guard(queue.pipelines.get(op, form.dispatch)) };
    } catch (error) {
      if (error instanceof KernelError && form.name !== own) return undefined;
      throw error;
    }
  });
  return (await Promise.all(compiled)).filter((form) => form !== undefined);
}

/** Weights, constants and tables that a dispatch reads, by the number of the binding. */
type FixedBindings = ReadonlyMap<number, GPUBufferBinding & { readonly size: number }>;

/** Times forms on memory of its own, but for weights and tables. */
class FormTimer {
  readonly #queue: DeviceQueue;
  readonly #dims: DimValues;
  readonly #plan: TimedPlan;
  readonly #buffers: GPUBuffer[] = [];

  constructor(queue: DeviceQueue, dims: DimValues, plan: TimedPlan) {
    this.#queue = queue;
    this.#dims = dims;
    this.#plan = plan;
  }

  /** The name of the fastest form of dispatches with one text; undefined if none can be timed. */
  async fastestOf(places: readonly FormedPlanned[], forms: readonly TimedForm[]): Promise<string | undefined> {
    const first = elementAt(places, 0);
    try {
      const bound = await this.#bind(first);
      const fixed = await this.#fixedAt(places);
      const ready: ReadyDispatch[][] = [];
      for (const [step, form] of forms.entries()) ready.push(await this.#readyOf(step, form, fixed, bound));
      const right = await this.#rightOnes(first, ready, bound);
      if (right.length === 0) return undefined;
      const times = await this.#times(right);
      const best = times.indexOf(Math.min(...times));
      const isFaster = ([own, other]: readonly number[]): boolean => other! < leastGain * own!;
      const isClear =
        isFaster([elementAt(times, 0), elementAt(times, best)]) &&
        isFaster(await this.#times([elementAt(right, 0), elementAt(right, best)]));
      return elementAt(forms, isClear ? elementAt(elementAt(right, best), 0).step : 0).name;
    } catch (error) {
      // The device has no room for a second set of inputs and results.
      if (error instanceof OutOfMemoryError) return undefined;
      throw error;
    } finally {
      for (const buffer of this.#buffers.splice(0)) buffer.destroy();
    }
  }

  /** Memory for the bindings of a dispatch that are neither weights nor tables, by their number. */
  async #bind({ dispatch, pieces }: PlannedDispatch): Promise<ReadonlyMap<number, GPUBuffer>> {
    const buffers = new Map<number, GPUBuffer>();
    for (const [i, piece] of pieces.entries()) {
      const { access } = elementAt(dispatch.bindings, i);
      if (access === "read" && isFixed(dispatch, i, piece)) continue;
      const spec = this.#specOf(dispatch, i, piece);
      const buffer = await this.#allocate(paddedBytes(deviceBytes(spec)), tensorUsage);
      if (access === "read") this.#queue.device.queue.writeBuffer(buffer, 0, contentOf(spec.dtype, buffer.size));
      buffers.set(i, buffer);
    }
    return buffers;
  }

  /** What is read at the places, and copies of the weights until a pass reads {@link coldBytes}. */
  async #fixedAt(places: readonly PlannedDispatch[]): Promise<readonly FixedBindings[]> {
    const { persistents } = this.#plan.program;
    const held = [...persistents.values()].reduce((sum, { spec }) => sum + deviceBytes(resolveSpec(spec, this.#dims)), 0);
    const first = elementAt(places, 0);
    const tables = this.#fixedOf(first, (piece) => !isWeight(piece));
    const read = [...this.#fixedOf(first, isWeight).values()].reduce((sum, { size }) => sum + size, 0);
    const count = Math.min(mostPlaces, Math.ceil(Math.min(held, coldBytes) / read));
    const weights = places.slice(0, count).map((place) => this.#fixedOf(place, isWeight));
    for (let i = 0; weights.length < count; i++) weights.push(await this.#copyOf(elementAt(weights, i)));
    return weights.map((own) => new Map([...tables, ...own]));
  }

  #fixedOf({ dispatch, pieces }: PlannedDispatch, isWanted: (piece: Piece) => boolean): FixedBindings {
    const entries = pieces.flatMap((piece, i) => {
      if (!isWanted(piece) || elementAt(dispatch.bindings, i).access !== "read" || !isFixed(dispatch, i, piece)) return [];
      if (piece.kind === "buffer") return [[i, { buffer: piece.buffer, size: piece.buffer.size }] as const];
      const size = paddedBytes(deviceBytes(resolveSpec(piece.operand.spec, this.#dims)));
      return [[i, { ...this.#plan.regionOf(piece.operand), size }] as const];
    });
    return new Map(entries);
  }

  async #copyOf(fixed: FixedBindings): Promise<FixedBindings> {
    const copies: [number, GPUBufferBinding & { readonly size: number }][] = [];
    const encoder = this.#queue.device.createCommandEncoder();
    for (const [i, { buffer, offset = 0, size }] of fixed) {
      const copy = await this.#allocate(size, tensorUsage);
      encoder.copyBufferToBuffer(buffer, offset, copy, 0, size);
      copies.push([i, { buffer: copy, size }]);
    }
    this.#queue.submit(encoder);
    return new Map(copies);
  }

  /** The dispatches of a form at each of the places. */
  async #readyOf(
    step: number,
    { op, dispatch, pipeline }: TimedForm,
    places: readonly FixedBindings[],
    bound: ReadonlyMap<number, GPUBuffer>,
  ): Promise<ReadyDispatch[]> {
    const { device, pipelines } = this.#queue;
    const size = dispatch.sizeIn(this.#dims);
    const uniforms = packUniforms(uniformPlaces([dispatch]), new Map([[dispatch, size]]));
    const uniform = await this.#allocate(uniforms.length, tensorUsage | usage.uniform);
    device.queue.writeBuffer(uniform, 0, uniforms);
    const layout = pipelines.layout(dispatch);
    const { x, y } = grid(op, size.groups, device.limits.maxComputeWorkgroupsPerDimension);
    const entry: GPUBufferBinding = { buffer: uniform, offset: 0, size: roundUp(4 * dispatch.uniforms.length, 16) };
    return places.map((fixed) => {
      const resources = dispatch.bindings.map((_, i): GPUBufferBinding => fixed.get(i) ?? { buffer: entryOf(bound, i) });
      const entries = [...resources, entry].map((resource, binding) => ({ binding, resource }));
      const bindGroup = device.createBindGroup({ layout, entries });
      return { step, pipeline: { value: pipeline }, bindGroup, x, y };
    });
  }

  /** The forms whose results at the first place are those of the dispatch's own form, itself included; none if that one's are not finite. */
  async #rightOnes(
    { dispatch, pieces }: PlannedDispatch,
    forms: readonly (readonly ReadyDispatch[])[],
    bound: ReadonlyMap<number, GPUBuffer>,
  ): Promise<readonly (readonly ReadyDispatch[])[]> {
    const results: (readonly Float32Array[])[] = [];
    const written = pieces.flatMap((piece, i) => {
      return elementAt(dispatch.bindings, i).access === "read" ? [] : [{ piece, i, buffer: entryOf(bound, i) }];
    });
    for (const form of forms) {
      const encoder = this.#queue.device.createCommandEncoder();
      for (const { buffer } of written) encoder.clearBuffer(buffer);
      const pass = encoder.beginComputePass();
      encodeDispatches(pass, [elementAt(form, 0)]);
      pass.end();
      this.#queue.submit(encoder);
      const read = written.map(async ({ piece, i, buffer }) => {
        const spec = comparedPart(this.#specOf(dispatch, i, piece));
        return decode(spec, await this.#queue.readTensor({ spec, from: { buffer, offset: 0 } })) as Float32Array;
      });
      results.push(await Promise.all(read));
    }
    const own = elementAt(results, 0);
    if (!own.every((values) => values.every(Number.isFinite))) return [];
    return forms.filter((_, f) => own.every((values, i) => isClose(values, elementAt(elementAt(results, f), i))));
  }

  /** The shortest time of each form, in passes of which each computes one form. */
  async #times(forms: readonly (readonly ReadyDispatch[])[]): Promise<readonly number[]> {
    const [alone] = await this.#timeOnce(forms.slice(0, 1), 1);
    const rounds = Math.max(1, Math.min(mostRounds, Math.ceil(passMicroseconds / Math.max(alone!, 1))));
    let best: readonly number[] = forms.map(() => Number.POSITIVE_INFINITY);
    for (let i = 0; i < repeats; i++) {
      const times = await this.#timeOnce(forms, rounds);
      best = best.map((time, f) => Math.min(time, elementAt(times, f)));
    }
    return best;
  }

  async #timeOnce(forms: readonly (readonly ReadyDispatch[])[], rounds: number): Promise<readonly number[]> {
    const dispatches = forms.flatMap((places, step) =>
      Array.from({ length: rounds }, () => places.map((ready) => ({ ...ready, step }))).flat(),
    );
    const encoder = this.#queue.device.createCommandEncoder();
    const read = submitTimed(this.#queue, encoder, dispatches, forms.length);
    return (await read()).map(({ microseconds }) => microseconds);
  }

  async #allocate(bytes: number, usageFlags: number): Promise<GPUBuffer> {
    const buffer = await guardMemory(this.#queue, bytes, () => createBuffer(this.#queue, bytes, usageFlags));
    this.#buffers.push(buffer);
    return buffer;
  }

  /** The tensor of a binding. Scratch memory counts as floats. */
  #specOf({ bindings }: Dispatch, i: number, piece: Piece): ConcreteSpec {
    if (piece.kind === "operand") return resolveSpec(piece.operand.spec, this.#dims);
    const { resource } = elementAt(bindings, i);
    return { dtype: "f32", shape: [resource.kind === "scratch" ? resource.bytes / 4 : piece.buffer.size / 4] };
  }
}

/** Whether a binding is of a weight, a constant or a table, whose content decides about the results. */
function isFixed({ bindings }: Dispatch, i: number, piece: Piece): boolean {
  if (piece.kind === "buffer") return elementAt(bindings, i).resource.kind === "table";
  return ["persistent", "constant"].includes(piece.operand.storage.definition.kind);
}

/** Content for an input: numbers between -1 and 1, or zeros for indices. */
function contentOf(dtype: DType, bytes: number): Float32Array<ArrayBuffer> {
  const values = new Float32Array(bytes / 4);
  if (isInteger(dtype)) return values;
  let state = 1;
  return values.map(() => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state / 2 ** 31;
  });
}

/** The first rows of a result; of a cache the first slot, to which the indices point. */
function comparedPart({ dtype, shape: [rows = 1, ...row] }: ConcreteSpec): ConcreteSpec {
  const rowBytes = deviceBytes({ dtype, shape: row });
  return { dtype, shape: [Math.max(1, Math.min(rows, Math.floor(comparedBytes / rowBytes))), ...row] };
}

function isClose(expected: Float32Array, got: Float32Array): boolean {
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  // Differences that are NaN are not close.
  return expected.every((value, i) => Math.abs(value - elementAt(got, i)) <= tolerance * largest);
}
