import { ArgumentError, type Dim, type OpRecorder, type SymbolicDim, UnsupportedError, type Value } from "@centella/core";
import { type GgufFile, type GgufInput, type LocateOptions, readGguf } from "@centella/gguf";
import { check, checkKeys, checkValue, nonEmptyString, shown } from "@centella/quant/checks";
import { ModelError } from "../errors.ts";
import { type AdapterScales, type AppliedAdapters, appliedAdapters, scaleKind } from "./adapterScales.ts";
import { MetadataReader } from "./metadataReader.ts";
import { type ExpertsOrigin, type ModelPart, type PartWeights, type Weight, type WeightOrigin, WeightTable } from "./weights.ts";

/** A LoRA adapter to load with a model. */
export interface AdapterOptions {
  /** GGUF file as llama.cpp's `convert_lora_to_gguf` writes it. Accepts what `loadModel` accepts for a model in one file. */
  readonly source: GgufInput;
  /**
   * Name by which sessions and calls choose the adapter, each with a scale of its own. Without a name, it is always applied.
   * Sequences with different adapters are computed together.
   */
  readonly name?: string | undefined;
  /** Factor of the adapter's contribution. Default 1. */
  readonly scale?: number | undefined;
}

/** The adapters that a model is loaded with. */
export interface Adapters {
  readonly files: readonly GgufFile[];
  /** Names of the adapters that sequences choose. */
  readonly names: readonly string[];
  /** See {@link appliedAdapters}. */
  readonly apply: (where: string, given: AdapterScales) => AppliedAdapters | undefined;
  /** The adapters that are always applied, and the named ones at these places among the names. */
  readonly at: (places: readonly number[]) => RecordedAdapters;
  /** The files of the adapters that are always applied, and of those with these names. */
  filesOf(names: readonly string[]): readonly GgufFile[];
  /** Declares the adapters' tensors in a program. */
  record(builder: AdaptedBuilder): AdapterTables;
  close(): Promise<void>;
}

/** Adapters that are recorded in a program. */
export type RecordedAdapters = Pick<Adapters, "record">;

/** What adapters need of a program's builder. */
export interface AdaptedBuilder {
  readonly program: OpRecorder;
  /** Tokens of the run. */
  readonly T: SymbolicDim;
  /** Indices `[nOut]` of the tokens whose rows {@link pick} returns. */
  readonly outRows: Value;
  pick(x: Value): Value;
}

/** An adapter's open file. */
interface Adapter {
  readonly name: string | undefined;
  /** Place among the named adapters. */
  readonly place: number | undefined;
  /** Prefix of the names of its tensors in a program. */
  readonly prefix: string;
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
  checkNames(adapters);
  const open: Adapter[] = [];
  let named = 0;
  const owned: GgufFile[] = [];
  const closeAll = async (): Promise<void> => {
    for (const file of owned) await file.close();
  };
  try {
    for (const [i, { source, name, scale = 1 }] of adapters.entries()) {
      checkValue("adapters.scale", scale, scaleKind);
      const file = await readGguf(source, locate);
      // A path or URL was opened here. A source that was handed in stays its owner's to close.
      if (typeof source === "string" || source instanceof URL) owned.push(file);
      requireLora(file, architecture);
      const alpha = new MetadataReader(file, "adapter").number("lora.alpha");
      // As in llama.cpp, the scale is not divided by the rank if alpha is 0 or missing.
      const scaleOf = (rank: number): number => (alpha === undefined ? scale : (scale * alpha) / rank);
      open.push({ name, place: name === undefined ? undefined : named++, prefix: `adapter.${i}.`, file, scale: scaleOf });
    }
    const names = open.flatMap(({ name }) => name ?? []);
    return {
      files: open.map(({ file }) => file),
      names,
      apply: (where, given) => appliedAdapters(where, given, names),
      at: (places) => recordedBy(open.filter(({ place }) => place === undefined || places.includes(place))),
      filesOf: (names) => open.filter(({ name }) => name === undefined || names.includes(name)).map(({ file }) => file),
      ...recordedBy(open),
      close: closeAll,
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function recordedBy(adapters: readonly Adapter[]): RecordedAdapters {
  return { record: (builder) => new AdapterTables(builder, adapters) };
}

/** @throws {ArgumentError} for unknown options, and two adapters of one name */
function checkNames(adapters: readonly AdapterOptions[]): void {
  const names = new Set<string>();
  for (const options of adapters) {
    checkKeys("adapters", options, ["source", "name", "scale"]);
    const { name } = options;
    if (name === undefined) continue;
    check("adapters", "name", name, nonEmptyString);
    if (names.has(name)) throw new ArgumentError("adapters", "a different name for each adapter", `two of the name ${shown(name)}`);
    names.add(name);
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

/** Name of the input `[T, 1]` with the scales of a named adapter, by its place among them. */
export function scaleInput(place: number): string {
  return `adapterScales.${place}`;
}

/** An adapter in a program. */
interface AdapterTable {
  readonly adapter: Adapter;
  readonly weights: WeightTable;
  /** Scale of each token `[T, 1]`, of an adapter that sequences choose. */
  readonly tokenScales: Value | undefined;
}

/**
 * The adapters' part of a program: adds `scale · B·(A·x)` to every product with a weight that they adapt. Their matrices keep the types in
 * which they are stored, regardless of the weights' types. Of a named adapter, each row of `A·x` has its token's scale as a further factor.
 */
export class AdapterTables {
  readonly #builder: AdaptedBuilder;
  readonly #program: OpRecorder;
  readonly #tables: readonly AdapterTable[];

  constructor(builder: AdaptedBuilder, adapters: readonly Adapter[]) {
    const { program, T } = builder;
    this.#builder = builder;
    this.#program = program;
    this.#tables = adapters.map((adapter) => ({
      adapter,
      weights: new WeightTable(program, adapter.file, adapter.prefix),
      tokenScales: adapter.place === undefined ? undefined : program.input(scaleInput(adapter.place), "f32", [T, 1]),
    }));
  }

  /** Adds the adapters' contributions to `y = x · wᵀ`. `multiply` computes such products. */
  addTo(y: Value, x: Value, { name, part, columns, from, rows, of }: WeightOrigin, multiply: (x: Value, w: Value) => Value): Value {
    return this.#addAll(y, { name, part }, (weights, rank) => ({
      inner: multiply(x, weights.matrix(`${name}.lora_a`, [rank, columns])),
      outer: (inner) => multiply(inner, weights.matrixRows(`${name}.lora_b`, rank, { rows, from, of })),
    }));
  }

  /** Adds the adapters' contributions to a product `y` with experts `[count, rows, columns]`. `multiply` computes such products. */
  addToExperts(
    y: Value,
    x: Value,
    { name, part, shape: [count, rows, columns] }: ExpertsOrigin,
    multiply: (x: Value, experts: Value) => Value,
  ): Value {
    return this.#addAll(y, { name, part }, (weights, rank) => ({
      inner: multiply(x, weights.matrix(`${name}.lora_a`, [count, rank, columns])),
      outer: (inner) => multiply(inner, weights.matrix(`${name}.lora_b`, [count, rows, rank])),
    }));
  }

  /** Adds the adapters' contributions to `y`, the rows `ids` of a table `[rows, columns]`. */
  addToRows(y: Value, ids: Value, { name, part, columns, rows }: WeightOrigin, multiply: (x: Value, w: Value) => Value): Value {
    // The factors of a table are stored the other way round: a row of A for each id.
    return this.#addAll(y, { name, part }, (weights, rank) => ({
      inner: this.#program.embedding(weights.matrix(`${name}.lora_a`, [rows, rank]), ids),
      outer: (inner) => multiply(inner, weights.matrix(`${name}.lora_b`, [columns, rank])),
    }));
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
  #addAll(y: Value, { name, part }: Pick<WeightOrigin, "name" | "part">, product: (weights: PartWeights, rank: number) => Product): Value {
    const program = this.#program;
    return this.#tables.reduce((sum, { adapter, weights, tokenScales }) => {
      const rank = rankOf(adapter, name);
      if (rank === undefined) return sum;
      const { inner, outer } = product(weights.of(part), rank);
      const added = outer(tokenScales === undefined ? inner : this.#scaleRows(inner, tokenScales, name));
      return program.add(sum, program.scale(added, { by: adapter.scale(rank) }));
    }, y);
  }

  /** Multiplies rows `[n, …]` by the scales of their tokens. @throws {UnsupportedError} if the rows are not those of tokens */
  #scaleRows(rows: Value, tokenScales: Value, name: string): Value {
    const { T, outRows } = this.#builder;
    const [count, ...rest] = rows.spec.shape as readonly [Dim, ...Dim[]];
    const isPicked = count === outRows.spec.shape[0];
    if (count !== T && !isPicked)
      throw new UnsupportedError("a named adapter", `${name} multiplies rows that are not tokens; load the adapter without a name`);
    const scales = isPicked ? this.#builder.pick(tokenScales) : tokenScales;
    return this.#program.mul(rows, rest.length === 1 ? scales : this.#program.reshape(scales, { shape: [count, ...rest.map(() => 1)] }));
  }
}

/** A product with the two factors of an adapter. */
interface Product {
  /** `A·x` */
  readonly inner: Value;
  /** Multiplies by B. */
  outer(inner: Value): Value;
}

/** Rank of the adapter's factors for a weight (the last extent of B); undefined if it does not adapt the weight. */
function rankOf({ file }: Adapter, name: string): number | undefined {
  return file.optionalTensor(`${name}.lora_b`)?.shape.at(-1);
}
