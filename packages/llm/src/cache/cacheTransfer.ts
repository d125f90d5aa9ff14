import { type ConcreteSpec, createRecorder, type OpRecorder, type Plan, ProgramError, type Runtime, type Tensor } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { dequantize, type GgmlType, rowBytes } from "@centella/quant";
import type { CompiledPlan } from "../scheduler/scheduler.ts";
import type { SnapshotLayer } from "./snapshot.ts";

/** Maximum number of rows that one run moves. */
const maxRows = 256;

/**
 * Moves keys and values between the cache and the host as f32, on any backend. It runs programs of its own on the memory of the model's
 * plan, which are compiled when they are first needed.
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

  /** Elements of a slot in each layer. */
  get rowSizes(): readonly SnapshotLayer[] {
    return [...this.layers].map(([name, spec]) => ({ name, elements: rowElements(spec) }));
  }

  /** Reads the rows of slots: `[slots.length, heads · width]` for each layer, in the order of {@link layers}. */
  async read(slots: Int32Array): Promise<Float32Array[]> {
    if (this.layers.size === 0) return [];
    // Rows of block types cannot be gathered under another shape, so such a cache is read as a whole.
    if ([...this.layers.values()].some(({ dtype }) => isQuantized(dtype))) return this.#readAll(slots);
    this.#reader ??= this.#compile(recordReader);
    const plan = await this.#reader;
    const layers = [...this.layers].map(([name, spec]) => {
      const width = rowElements(spec);
      return { name, width, rows: new Float32Array(slots.length * width) };
    });
    for (let start = 0; start < slots.length; start += maxRows) {
      const outputs = plan.run({ slots: slots.slice(start, start + maxRows) });
      for (const { name, width, rows } of layers) rows.set(await takeData(outputs, name), start * width);
    }
    return layers.map(({ rows }) => rows);
  }

  /** Writes rows as {@link read} returns them. */
  async write(slots: Int32Array, rows: readonly Float32Array[]): Promise<void> {
    if (this.layers.size === 0) return;
    this.#writer ??= this.#compile(recordWriter);
    const plan = await this.#writer;
    for (let start = 0; start < slots.length; start += maxRows) {
      const inputs: Record<string, Int32Array | Float32Array> = { slots: slots.slice(start, start + maxRows), done: new Float32Array(1) };
      for (const [i, [name, spec]] of [...this.layers].entries()) {
        const width = rowElements(spec);
        const part = rows[i]?.subarray(start * width, (start + maxRows) * width) ?? new Float32Array(0);
        const { keys, values } = splitRows(part, spec);
        inputs[`${name}.k`] = keys;
        inputs[`${name}.v`] = values;
      }
      // The output only shows that the run is done, or why it failed.
      await takeData(plan.run(inputs), "done");
    }
  }

  async dispose(): Promise<void> {
    for (const plan of [this.#reader, this.#writer]) (await plan?.catch(() => undefined))?.dispose();
  }

  async #readAll(slots: Int32Array): Promise<Float32Array[]> {
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

/** Data of a run's output, which is freed. */
export async function takeData(outputs: Readonly<Record<string, Tensor>>, name: string): Promise<Float32Array> {
  const output = outputs[name];
  if (output === undefined) throw new ProgramError(`run: expected the output ${name}, got none`);
  return (await output.data().finally(() => output.dispose())) as Float32Array;
}

/** Extents of a layer's cache. Its keys and values are stored side by side: `width` elements per head. */
function extentsOf({ shape }: ConcreteSpec): { readonly slots: number; readonly heads: number; readonly width: number } {
  const [slots, heads, width] = shape as readonly [number, number, number];
  return { slots, heads, width };
}

/** Elements of a slot in one layer. */
function rowElements(spec: ConcreteSpec): number {
  const { heads, width } = extentsOf(spec);
  return heads * width;
}

function recordReader(layers: ReadonlyMap<string, ConcreteSpec>): OpRecorder {
  const program = createRecorder();
  const slots = program.input("slots", "i32", [program.dim("T", maxRows)]);
  for (const [name, spec] of layers) {
    const cache = program.persistent(name, spec, { init: "zeros" });
    const rows = program.reshape(cache, { shape: [extentsOf(spec).slots, rowElements(spec)] });
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
    const { heads, width } = extentsOf(spec);
    const keyWidth = keyWidthOf(width);
    const k = program.input(`${name}.k`, "f32", [T, heads, keyWidth]);
    const v = program.input(`${name}.v`, "f32", [T, heads, width - keyWidth]);
    program.kvWrite(cache, k, v, slots);
  }
  program.output("done", program.scale(program.input("done", "f32", [1]), { by: 1 }));
  return program;
}

/** Records a program that copies up to `maxSlots` slots to other slots. */
export function recordSlotCopier(layers: ReadonlyMap<string, ConcreteSpec>, maxSlots: number): OpRecorder {
  const program = createRecorder();
  const T = program.dim("T", maxSlots);
  const [from, to] = [program.input("from", "i32", [T]), program.input("to", "i32", [T])];
  for (const [name, spec] of layers) {
    const cache = program.persistent(name, spec, { init: "zeros" });
    const { slots, heads, width } = extentsOf(spec);
    const rows = program.embedding(program.reshape(cache, { shape: [slots, heads * width] }), from);
    const split = program.reshape(rows, { shape: [T, heads, width] });
    const keyWidth = keyWidthOf(width);
    const k = program.slice(split, { axis: -1, start: 0, end: keyWidth });
    const v = program.slice(split, { axis: -1, start: keyWidth, end: width });
    program.kvWrite(cache, k, v, to);
  }
  program.output("done", program.scale(program.input("done", "f32", [1]), { by: 1 }));
  return program;
}

/**
 * Elements of a row that are passed to `kvWrite` as keys. The op joins keys and values again, so any split between two blocks of 32
 * elements will do.
 */
function keyWidthOf(width: number): number {
  return width > 32 ? 32 * Math.floor(width / 64 || 1) : Math.floor(width / 2);
}

/** Splits `[T, heads, width]` in two along the last axis. */
function splitRows(rows: Float32Array, spec: ConcreteSpec): { readonly keys: Float32Array; readonly values: Float32Array } {
  const { width } = extentsOf(spec);
  const keyWidth = keyWidthOf(width);
  const count = rows.length / width;
  const keys = new Float32Array(count * keyWidth);
  const values = new Float32Array(count * (width - keyWidth));
  for (let i = 0; i < count; i++) {
    keys.set(rows.subarray(i * width, i * width + keyWidth), i * keyWidth);
    values.set(rows.subarray(i * width + keyWidth, (i + 1) * width), i * (width - keyWidth));
  }
  return { keys, values };
}
