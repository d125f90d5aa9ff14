import type { OpRecorder, Value } from "@centella/core";
import { type GgufFile, type GgufInput, type LocateOptions, readGguf } from "@centella/gguf";
import { checkKeys, checkValue, finite, shown } from "@centella/quant/checks";
import { ModelError } from "../errors.ts";
import { MetadataReader } from "./metadataReader.ts";
import { type ExpertsOrigin, type ModelPart, type PartWeights, type Weight, type WeightOrigin, WeightTable } from "./weights.ts";

/** A LoRA adapter to load with a model. */
export interface AdapterOptions {
  /** GGUF file as llama.cpp's `convert_lora_to_gguf` writes it. Accepts what `loadModel` accepts for a model in one file. */
  readonly source: GgufInput;
  /** Factor of the adapter's contribution. Default 1. */
  readonly scale?: number | undefined;
}

/** The adapters that a model is loaded with. */
export interface Adapters {
  readonly files: readonly GgufFile[];
  /** Declares the adapters' tensors in a program. */
  record(program: OpRecorder): AdapterTables;
  close(): Promise<void>;
}

/** An adapter's open file. */
interface Adapter {
  readonly file: GgufFile;
  /** Factor of `B·(A·x)`, given the number of rows of A. */
  readonly scale: (rank: number) => number;
}

/** Ends of the names of an adapter's tensors. */
const suffixes = [".lora_a", ".lora_b"] as const;

/**
 * Opens adapters for a model of this architecture.
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
      // A path or URL was opened here. A source that was handed in stays its owner's to close.
      if (typeof source === "string" || source instanceof URL) owned.push(file);
      requireLora(file, architecture);
      const alpha = new MetadataReader(file, "adapter").number("lora.alpha");
      // As in llama.cpp, the scale is not divided by the rank if alpha is 0 or missing.
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
    throw new ModelError(`adapter: expected one that is always active, got one with ${activated}; pass a plain LoRA adapter`);
  }
}

/**
 * The adapters' part of a program: adds `scale · B·(A·x)` to every product with a weight that they adapt. Their matrices keep the types in
 * which they are stored, regardless of the weights' types.
 */
export class AdapterTables {
  readonly #program: OpRecorder;
  readonly #tables: readonly { readonly adapter: Adapter; readonly weights: WeightTable }[];

  constructor(program: OpRecorder, adapters: readonly Adapter[]) {
    this.#program = program;
    this.#tables = adapters.map((adapter, i) => ({ adapter, weights: new WeightTable(program, adapter.file, `adapter.${i}.`) }));
  }

  /** Adds the adapters' contributions to `y = x · wᵀ`. `multiply` computes such products. */
  addTo(y: Value, x: Value, { name, part, columns, from, rows, of }: WeightOrigin, multiply: (x: Value, w: Value) => Value): Value {
    return this.#addAll(y, { name, part }, (weights, rank) => {
      const a = weights.matrix(`${name}.lora_a`, [rank, columns]);
      const b = weights.matrixRows(`${name}.lora_b`, rank, { rows, from, of });
      return multiply(multiply(x, a), b);
    });
  }

  /** Adds the adapters' contributions to a product `y` with experts `[count, rows, columns]`. `multiply` computes such products. */
  addToExperts(
    y: Value,
    x: Value,
    { name, part, shape: [count, rows, columns] }: ExpertsOrigin,
    multiply: (x: Value, experts: Value) => Value,
  ): Value {
    return this.#addAll(y, { name, part }, (weights, rank) => {
      const a = weights.matrix(`${name}.lora_a`, [count, rank, columns]);
      const b = weights.matrix(`${name}.lora_b`, [count, rows, rank]);
      return multiply(multiply(x, a), b);
    });
  }

  /** Adds the adapters' contributions to `y`, the rows `ids` of a table `[rows, columns]`. */
  addToRows(y: Value, ids: Value, { name, part, columns, rows }: WeightOrigin, multiply: (x: Value, w: Value) => Value): Value {
    return this.#addAll(y, { name, part }, (weights, rank) => {
      // The factors of a table are stored the other way round: a row of A for each id.
      const a = this.#program.embedding(weights.matrix(`${name}.lora_a`, [rows, rank]), ids);
      return multiply(a, weights.matrix(`${name}.lora_b`, [columns, rank]));
    });
  }

  /** Accepts the adapters' tensors for weights that do not contribute to the result. */
  ignore(...names: readonly string[]): void {
    for (const { weights } of this.#tables) weights.ignore(...names.flatMap((name) => suffixes.map((suffix) => name + suffix)));
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

  /** Adds the scaled product of each adapter that adapts the weight `name`. `part` is the part of the model that the weight belongs to. */
  #addAll(y: Value, { name, part }: Pick<WeightOrigin, "name" | "part">, product: (weights: PartWeights, rank: number) => Value): Value {
    return this.#tables.reduce((sum, { adapter, weights }) => {
      const rank = rankOf(adapter, name);
      if (rank === undefined) return sum;
      return this.#program.add(sum, this.#program.scale(product(weights.of(part), rank), { by: adapter.scale(rank) }));
    }, y);
  }
}

/** Rank of the adapter's factors for a weight (the last extent of B); undefined if it does not adapt the weight. */
function rankOf({ file }: Adapter, name: string): number | undefined {
  return file.optionalTensor(`${name}.lora_b`)?.shape.at(-1);
}
