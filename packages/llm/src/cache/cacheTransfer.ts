import { type ConcreteSpec, createRecorder, type OpRecorder, type Plan, type Runtime } from "@centella/core";
import { isQuantized, type Persistent } from "@centella/core/backend";
import { dequantize, type GgmlType, rowBytes } from "@centella/quant";
import type { CompiledPlan } from "../scheduler/scheduler.ts";
import type { SnapshotLayer } from "./snapshot.ts";

/** Rows that are moved at once. */
const maxRows = 256;

/**
 * Moves keys and values between the cache and the host as f32, whatever the backend: programs of their own over the memory of
 * the model's plan, compiled when they are first needed.
 */
export class CacheTransfer {
  /** The cache of each layer, `[slots, heads, width]`, by name. */
  readonly layers: ReadonlyMap<string, ConcreteSpec>;
  readonly #runtime: Runtime;
  readonly #plan: CompiledPlan;
  #reader: Promise<Plan> | undefined;
  #writer: Promise<Plan> | undefined;

  constructor(runtime: Runtime, plan: CompiledPlan, layers: ReadonlyMap<string, ConcreteSpec>) {
    this.#runtime = runtime;
    this.#plan = plan;
    this.layers = layers;
  }

  /** What a slot has in each layer. */
  get rowSizes(): readonly SnapshotLayer[] {
    return [...this.layers].map(([name, spec]) => ({ name, elements: rowElements(spec) }));
  }

  /** The rows of some slots, `[slots.length, heads · width]` of each layer, in the order of {@link layers}. */
  async read(slots: Int32Array): Promise<Float32Array[]> {
    if (this.layers.size === 0) return [];
    // Rows of blocks cannot be gathered under another shape, so all of such a cache is fetched.
    if ([...this.layers.values()].some(({ dtype }) => isQuantized(dtype))) return this.#readWhole(slots);
    this.#reader ??= this.#compile(recordReader);
    const plan = await this.#reader;
    const rows = [...this.layers.values()].map((spec) => new Float32Array(slots.length * rowElements(spec)));
    for (let start = 0; start < slots.length; start += maxRows) {
      const outputs = plan.run({ slots: slots.slice(start, start + maxRows) });
      for (const [i, [name, spec]] of [...this.layers].entries()) {
        const output = outputs[name]!;
        rows[i]!.set((await output.data().finally(() => output.dispose())) as Float32Array, start * rowElements(spec));
      }
    }
    return rows;
  }

  /** Writes such rows. */
  async write(slots: Int32Array, rows: readonly Float32Array[]): Promise<void> {
    if (this.layers.size === 0) return;
    this.#writer ??= this.#compile(recordWriter);
    const plan = await this.#writer;
    for (let start = 0; start < slots.length; start += maxRows) {
      const inputs: Record<string, Int32Array | Float32Array> = { slots: slots.slice(start, start + maxRows), done: new Float32Array(1) };
      for (const [i, [name, spec]] of [...this.layers].entries()) {
        const width = rowElements(spec);
        const part = rows[i]!.subarray(start * width, (start + maxRows) * width);
        const { keys, values } = splitRows(part, spec);
        inputs[`${name}.k`] = keys;
        inputs[`${name}.v`] = values;
      }
      const outputs = plan.run(inputs);
      // The output only tells that the run is done, or why it failed.
      for (const output of Object.values(outputs)) await output.data().finally(() => output.dispose());
    }
  }

  async dispose(): Promise<void> {
    for (const plan of [this.#reader, this.#writer]) (await plan?.catch(() => undefined))?.dispose();
  }

  async #readWhole(slots: Int32Array): Promise<Float32Array[]> {
    const rows: Float32Array[] = [];
    for (const [name, spec] of this.layers) {
      const stored = await this.#plan.save(name);
      const type = spec.dtype as GgmlType;
      const width = rowElements(spec);
      const bytes = rowBytes(type, width);
      const values = new Float32Array(slots.length * width);
      for (const [i, slot] of slots.entries()) {
        const row = new Uint8Array(stored.buffer, stored.byteOffset + slot * bytes, bytes);
        dequantize(type, row, values.subarray(i * width, (i + 1) * width));
      }
      rows.push(values);
    }
    return rows;
  }

  #compile(record: (layers: ReadonlyMap<string, ConcreteSpec>) => OpRecorder): Promise<Plan> {
    return this.#runtime.compile(record(this.layers), { shareWith: this.#plan });
  }
}

/** The caches among a program's persistents. */
export function cacheLayers(persistents: Iterable<Persistent>): Map<string, ConcreteSpec> {
  return new Map([...persistents].filter(({ name }) => name.startsWith("cache.")).map(({ name, spec }) => [name, spec]));
}

/** Elements of a slot in one layer. */
function rowElements({ shape }: ConcreteSpec): number {
  return shape[1]! * shape[2]!;
}

function recordReader(layers: ReadonlyMap<string, ConcreteSpec>): OpRecorder {
  const program = createRecorder();
  const slots = program.input("slots", "i32", [program.dim("T", maxRows)]);
  for (const [name, spec] of layers) {
    const cache = program.persistent(name, spec, { init: "zeros" });
    const rows = program.reshape(cache, { shape: [spec.shape[0]!, rowElements(spec)] });
    program.output(name, program.embedding(rows, slots));
  }
  return program;
}

function recordWriter(layers: ReadonlyMap<string, ConcreteSpec>): OpRecorder {
  const program = createRecorder();
  const T = program.dim("T", maxRows);
  const slots = program.input("slots", "i32", [T]);
  for (const [name, spec] of layers) {
    const cache = program.persistent(name, spec, { init: "zeros" });
    const heads = spec.shape[1]!;
    const keyWidth = splitOf(spec);
    const k = program.input(`${name}.k`, "f32", [T, heads, keyWidth]);
    const v = program.input(`${name}.v`, "f32", [T, heads, spec.shape[2]! - keyWidth]);
    program.kvWrite(cache, k, v, slots);
  }
  program.output("done", program.scale(program.input("done", "f32", [1]), { by: 1 }));
  return program;
}

/** Copies up to `most` slots to others. */
export function recordSlots(layers: ReadonlyMap<string, ConcreteSpec>, most: number): OpRecorder {
  const program = createRecorder();
  const T = program.dim("T", most);
  const [from, to] = [program.input("from", "i32", [T]), program.input("to", "i32", [T])];
  for (const [name, spec] of layers) {
    const cache = program.persistent(name, spec, { init: "zeros" });
    const [slots, heads, width] = spec.shape as readonly [number, number, number];
    const rows = program.embedding(program.reshape(cache, { shape: [slots, heads * width] }), from);
    const split = program.reshape(rows, { shape: [T, heads, width] });
    const cut = splitOf(spec);
    const [k, v] = [program.slice(split, { axis: -1, start: 0, end: cut }), program.slice(split, { axis: -1, start: cut, end: width })];
    program.kvWrite(cache, k, v, to);
  }
  program.output("done", program.scale(program.input("done", "f32", [1]), { by: 1 }));
  return program;
}

/** Where a row of the cache is cut in two for `kvWrite`, which joins the parts again: anywhere, but at a block's border. */
function splitOf({ shape }: ConcreteSpec): number {
  const width = shape[2]!;
  return width > 32 ? 32 * Math.floor(width / 64 || 1) : Math.floor(width / 2);
}

/** `[T, heads, width]` in two along the last axis. */
function splitRows(rows: Float32Array, spec: ConcreteSpec): { readonly keys: Float32Array; readonly values: Float32Array } {
  const width = spec.shape[2]!;
  const keyWidth = splitOf(spec);
  const count = rows.length / width;
  const keys = new Float32Array(count * keyWidth);
  const values = new Float32Array(count * (width - keyWidth));
  for (let i = 0; i < count; i++) {
    keys.set(rows.subarray(i * width, i * width + keyWidth), i * keyWidth);
    values.set(rows.subarray(i * width + keyWidth, (i + 1) * width), i * (width - keyWidth));
  }
  return { keys, values };
}
