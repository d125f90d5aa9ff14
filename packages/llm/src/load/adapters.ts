import type { OpRecorder, Value } from "@centella/core";
import { type GgufFile, type GgufInput, type LocateOptions, readGguf } from "@centella/gguf";
import { checkValue, finite, shown } from "@centella/quant/checks";
import { ModelError } from "../errors.ts";
import { checkKeys } from "../options.ts";
import { MetadataReader } from "./metadataReader.ts";
import { type ExpertsOrigin, type ModelPart, type Weight, type WeightOrigin, WeightTable } from "./weights.ts";

/** A LoRA adapter to load with a model. */
export interface AdapterOptions {
  /** GGUF file as llama.cpp's `convert_lora_to_gguf` writes it, named or given as a model is. */
  readonly source: GgufInput;
  /** How much of it is added. Default 1. */
  readonly scale?: number | undefined;
}

/** The adapters that a model is loaded with. */
export interface Adapters {
  readonly files: readonly GgufFile[];
  /** Their part of a recording. */
  record(program: OpRecorder): AdapterTables;
  close(): Promise<void>;
}

/** An adapter's open file. */
interface Adapter {
  readonly file: GgufFile;
  /** Factor of `B·(A·x)` where A has `rank` rows. */
  readonly scale: (rank: number) => number;
}

const ends = [".lora_a", ".lora_b"] as const;

/**
 * Opens adapters of a model of this architecture.
 * @throws {GgufError | ModelError | ArgumentError}
 */
export async function openAdapters(adapters: readonly AdapterOptions[], architecture: string, locate: LocateOptions): Promise<Adapters> {
  const open: Adapter[] = [];
  const owned: GgufFile[] = [];
  const closeAll = async (): Promise<void> => {
    for (const file of owned) await file.close();
  };
  try {
    for (const options of adapters) {
      checkKeys("adapters", options, ["source", "scale"]);
      const { source, scale = 1 } = options;
      checkValue("adapters.scale", scale, finite);
      const file = await readGguf(source, locate);
      // A path or URL was opened here; a source handed in stays its owner's to close.
      if (typeof source === "string" || source instanceof URL) owned.push(file);
      requireLora(file, architecture);
      const alpha = new MetadataReader(file, "adapter").number("lora.alpha");
      // As in llama.cpp, where alpha is 0 or missing nothing is divided by the rank.
      open.push({ file, scale: (rank) => (alpha === undefined ? scale : (scale * alpha) / rank) });
    }
    return {
      files: open.map(({ file }) => file),
      record: (program) => new AdapterTables(program, open),
      close: closeAll,
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** @throws {ModelError} unless it is a plain LoRA adapter of this architecture */
function requireLora({ metadata }: GgufFile, architecture: string): void {
  for (const [key, expected] of [
    ["general.type", "adapter"],
    ["adapter.type", "lora"],
    ["general.architecture", architecture],
  ] as const) {
    const got = metadata.optionalString(key);
    if (got === expected) continue;
    throw new ModelError(
      `adapter: expected ${key} = ${expected}, got ${got === undefined ? "no such key" : shown(got)}; pass a LoRA adapter of this model`,
    );
  }
  const activated = "adapter.alora.invocation_tokens";
  if (metadata.has(activated)) {
    throw new ModelError(`adapter: expected one that always holds, got one with ${activated}; pass a plain LoRA adapter`);
  }
}

/**
 * The adapters' part of a recording: `scale · B·(A·x)` beside every product with a weight that they adapt. Their matrices stay as they
 * are stored, whatever type the model's weights have.
 */
export class AdapterTables {
  readonly #program: OpRecorder;
  readonly #tables: readonly { readonly adapter: Adapter; readonly weights: WeightTable }[];

  constructor(program: OpRecorder, adapters: readonly Adapter[]) {
    this.#program = program;
    this.#tables = adapters.map((adapter, i) => ({ adapter, weights: new WeightTable(program, adapter.file, `adapter.${i}.`) }));
  }

  /** `y` with what the adapters add to `x · wᵀ`; `multiply` is that product. */
  addTo(y: Value, x: Value, { name, part, columns, from, rows, of }: WeightOrigin, multiply: (x: Value, w: Value) => Value): Value {
    for (const { adapter, weights } of this.#tables) {
      const rank = rankOf(adapter, name);
      if (rank === undefined) continue;
      const a = weights.of(part).matrix(`${name}.lora_a`, [rank, columns]);
      const b = weights.of(part).matrixRows(`${name}.lora_b`, rank, { rows, from, of });
      y = this.#program.add(y, this.#program.scale(multiply(multiply(x, a), b), { by: adapter.scale(rank) }));
    }
    return y;
  }

  /** `y` with what the adapters add to a product with experts `[count, rows, columns]`; `multiply` is that product. */
  addToExperts(
    y: Value,
    x: Value,
    { name, part, shape: [count, rows, columns] }: ExpertsOrigin,
    multiply: (x: Value, experts: Value) => Value,
  ): Value {
    for (const { adapter, weights } of this.#tables) {
      const rank = rankOf(adapter, name);
      if (rank === undefined) continue;
      const a = weights.of(part).matrix(`${name}.lora_a`, [count, rank, columns]);
      const b = weights.of(part).matrix(`${name}.lora_b`, [count, rows, rank]);
      y = this.#program.add(y, this.#program.scale(multiply(multiply(x, a), b), { by: adapter.scale(rank) }));
    }
    return y;
  }

  /** `y` with what the adapters add to rows `ids` of a table `[rows, columns]`. */
  addToRows(y: Value, ids: Value, { name, part, columns, rows }: WeightOrigin, multiply: (x: Value, w: Value) => Value): Value {
    for (const { adapter, weights } of this.#tables) {
      const rank = rankOf(adapter, name);
      if (rank === undefined) continue;
      // A table's factors are stored the other way round: a row of A for each id.
      const a = this.#program.embedding(weights.of(part).matrix(`${name}.lora_a`, [rows, rank]), ids);
      const b = weights.of(part).matrix(`${name}.lora_b`, [columns, rank]);
      y = this.#program.add(y, this.#program.scale(multiply(a, b), { by: adapter.scale(rank) }));
    }
    return y;
  }

  /** Leaves out the adapters' parts for weights that take no part. */
  ignore(...names: readonly string[]): void {
    for (const { weights } of this.#tables) weights.ignore(...names.flatMap((name) => ends.map((end) => name + end)));
  }

  /** See {@link WeightTable.parts}. */
  get parts(): readonly (readonly [string, ModelPart])[] {
    return this.#tables.flatMap(({ weights }) => [...weights.parts]);
  }

  /** See {@link WeightTable.problems}. */
  get problems(): ModelError | undefined {
    return this.#tables.map(({ weights }) => weights.problems).find((problem) => problem !== undefined);
  }

  /** @throws {ModelError} naming tensors that adapt nothing, or are missing or misshapen */
  finish(): readonly Weight[] {
    return this.#tables.flatMap(({ weights }) => weights.finish());
  }
}

/** Columns of B (its last extent), if the adapter adapts this weight. */
function rankOf({ file }: Adapter, name: string): number | undefined {
  return file.optionalTensor(`${name}.lora_b`)?.shape.at(-1);
}
