import { type DType, type OpRecorder, type TensorSource, UnsupportedError, type Value } from "@centella/core";
import { formatShape } from "@centella/core/backend";
import type { GgufFile, TensorInfo } from "@centella/gguf";
import { blockLayout, isDequantizable, isHalf } from "@centella/quant";
import { shown } from "@centella/quant/checks";
import { ModelError } from "../errors.ts";
import { isDivisor } from "./factor.ts";

/** A weight of the program and where its bytes come from. */
export interface Weight {
  readonly name: string;
  readonly source: TensorSource;
  readonly bytes: number;
  /** Byte offset in the file. */
  readonly offset: number;
  /** The tensor whose bytes the source returns, from byte `from`. Undefined if the source decodes the tensor. */
  readonly stored?: { readonly tensor: TensorInfo; readonly from: number };
}

/** Consecutive rows of a tensor with `of` rows: `rows` of them, from row `from`. Default: all rows. */
export interface RowRange {
  readonly rows: number;
  readonly from?: number;
  readonly of?: number;
}

/** The part of a model that a tensor belongs to: a layer by its index, the input before the first layer, the output after the last, or all. */
export type ModelPart = number | "input" | "output" | "shared";

/** Origin of a matrix of the program: rows `from` to `from + rows` of the `of` rows of a tensor. */
export interface WeightOrigin extends Required<RowRange> {
  readonly name: string;
  readonly part: ModelPart;
  readonly columns: number;
}

/** Origin of experts of the program: all of a tensor. */
export interface ExpertsOrigin {
  readonly name: string;
  readonly part: ModelPart;
  readonly shape: readonly [count: number, rows: number, columns: number];
}

const maxNamed = 8;

/**
 * The tensors of a file as persistents of a program: the only place where GGUF meets core. A model's forward pass asks
 * for its tensors by name and shape while it is recorded; {@link finish} then compares the requested tensors with those of the file.
 */
export class WeightTable {
  /** The part of the model that each persistent belongs to. */
  readonly parts: Map<string, ModelPart> = new Map();
  readonly #program: OpRecorder;
  readonly #file: GgufFile;
  /** Prefix of the persistents' names: none for the model's own, else its owner's name and a dot. */
  readonly #prefix: string;
  readonly #values = new Map<string, Value>();
  readonly #origins = new Map<Value, WeightOrigin>();
  readonly #expertOrigins = new Map<Value, ExpertsOrigin>();
  readonly #used = new Set<string>();
  readonly #weights: Weight[] = [];
  readonly #ignored = new Set<string>();
  readonly #missing = new Set<string>();
  readonly #misshapen = new Set<string>();

  constructor(program: OpRecorder, file: GgufFile, prefix: string = "") {
    this.#program = program;
    this.#file = file;
    this.#prefix = prefix;
  }

  /** The tensors of one part of the model, by names that lack `prefix`. */
  of(part: ModelPart, prefix: string = ""): PartWeights {
    return new PartWeights(this, part, prefix);
  }

  /** Whether the file has a tensor that is not ignored. */
  has(name: string): boolean {
    return this.#file.hasTensor(name) && !this.#ignored.has(name);
  }

  /** Extents of a tensor of the file. */
  shape(name: string): readonly number[] | undefined {
    return this.#file.optionalTensor(name)?.shape;
  }

  /** The origin of a matrix that this table declared. */
  originOf(value: Value): WeightOrigin | undefined {
    return this.#origins.get(value);
  }

  /** The origin of experts that this table declared. */
  expertsOriginOf(value: Value): ExpertsOrigin | undefined {
    return this.#expertOrigins.get(value);
  }

  /** Leaves out tensors that take no part in the result: from now on the table reports them as absent. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#ignored.add(name);
  }

  /** Leaves out all tensors whose names begin with `prefix`. */
  ignoreAll(prefix: string): void {
    this.ignore(...this.#file.tensors.map(({ name }) => name).filter((name) => name.startsWith(prefix)));
  }

  /** Declares all tensors whose names begin with `prefix`, for another program over the same weights: vectors as f32, matrices as they are. */
  declareAll(prefix: string): void {
    for (const { name, shape } of this.#file.tensors) {
      if (name.startsWith(prefix)) this.tensor("shared", name, shape, shape.length === 1 ? "f32" : "stored");
    }
  }

  /** The error for tensors that are missing or misshapen so far, if there are any. */
  get problems(): ModelError | undefined {
    return this.#missing.size + this.#misshapen.size === 0 ? undefined : this.#error([]);
  }

  /**
   * Ends a recording that has many problems. Without the expected tensors nothing bounds the cost of the remaining layers.
   * @throws {ModelError} naming the tensors
   */
  failEarly(): void {
    if (this.#missing.size + this.#misshapen.size >= maxNamed) throw this.#error([]);
  }

  /**
   * The weights to load, in the file's order.
   * @throws {ModelError} naming missing, misshapen and unknown tensors
   */
  finish(): readonly Weight[] {
    const unknown = this.#file.tensors.map(({ name }) => name).filter((name) => !this.#used.has(name) && !this.#ignored.has(name));
    if (this.#missing.size + this.#misshapen.size + unknown.length > 0) throw this.#error(unknown);
    return this.#weights.toSorted((a, b) => a.offset - b.offset);
  }

  /** The weights to load of a program that uses a part of the file, in the file's order. @throws {ModelError} naming missing and misshapen tensors */
  requested(): readonly Weight[] {
    if (this.problems !== undefined) throw this.problems;
    return this.#weights.toSorted((a, b) => a.offset - b.offset);
  }

  #error(unknown: readonly string[]): ModelError {
    const problems = [
      ...list("these tensors, got none of them", [...this.#missing]),
      ...list("tensors of the model's shapes, got", [...this.#misshapen]),
      ...list(
        "only tensors that the architecture knows, got",
        unknown.map((name) => shown(name)),
      ),
    ];
    return new ModelError(
      `${this.#prefix.split(".")[0] || "model"}: ${problems.join("; ")}; the file is of a variant that is not computed yet, or broken`,
    );
  }

  /**
   * Declares a tensor of the file as a persistent: all of `shape`, or the rows `range` of its first axis. If several parts of the model
   * request the same tensor, it belongs to the last of them.
   */
  tensor(part: ModelPart, name: string, shape: readonly number[], as: WeightForm, range: RowRange = { rows: shape[0] ?? 1 }): Value {
    const { rows, from = 0 } = range;
    const [of = 1, ...rest] = shape;
    const key = this.#prefix + (rows === of ? name : `${name}[${from}:${from + rows}]`);
    this.parts.set(key, part);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const info = this.#file.optionalTensor(name);
    const isUsable = info !== undefined && this.#fits(info, shape);
    if (info === undefined) this.#missing.add(`${name} ${formatShape(shape)}`);
    // Recording continues with a placeholder, so that one error names every problem.
    const dtype = isUsable ? typeOf(info, as) : as === "integers" ? "i32" : "f32";
    const value = this.#program.persistent(key, { dtype, shape: [rows, ...rest] });
    this.#values.set(key, value);
    const [columns = 1, inner = 1] = rest;
    if (shape.length === 2) this.#origins.set(value, { name, part, columns, from, rows, of });
    if (shape.length === 3) this.#expertOrigins.set(value, { name, part, shape: [of, columns, inner] });
    this.#used.add(name);
    if (isUsable) this.#weights.push(weightMakers[as](key, this.#file, info, { from, rows, of }));
    return value;
  }

  #fits(info: TensorInfo, shape: readonly number[]): boolean {
    // GGUF leaves out outer extents of 1, and writes a row as a vector.
    const [has, wants] = [info.shape, shape].map((extents) => extents.filter((extent) => extent !== 1).join());
    // Some files have the rows of a matrix in groups.
    const isInGroups = info.shape.length === 3 && shape.length === 2 && info.shape[2] === shape[1];
    if (has === wants || (isInGroups && info.elements === (shape[0] ?? 0) * (shape[1] ?? 0))) return true;
    this.#misshapen.add(`${info.name} ${formatShape(info.shape)} instead of ${formatShape(shape)}`);
    return false;
  }
}

/** Tensors of one part of a model, by names relative to the part's prefix. */
export class PartWeights {
  readonly #table: WeightTable;
  readonly #part: ModelPart;
  readonly #prefix: string;

  constructor(table: WeightTable, part: ModelPart, prefix: string) {
    this.#table = table;
    this.#part = part;
    this.#prefix = prefix;
  }

  /** A tensor's name in the file. */
  nameOf(name: string): string {
    return this.#prefix + name;
  }

  has(name: string): boolean {
    return this.#table.has(this.nameOf(name));
  }

  /** Extents of a tensor of the file. */
  shape(name: string): readonly number[] | undefined {
    return this.#table.shape(this.nameOf(name));
  }

  /** A weight `[n, k]` or `[count, n, k]` in the file's own type. */
  matrix(name: string, shape: readonly number[]): Value {
    return this.#tensor(name, shape, "stored");
  }

  /** Rows `[rows, columns]` of a matrix that the file stores together with others. */
  matrixRows(name: string, columns: number, range: RowRange): Value {
    return this.#tensor(name, [range.of ?? range.rows, columns], "stored", range);
  }

  /** A norm's weight, a bias or another small tensor, as f32 whatever the file stores. */
  vector(name: string, shape: number | readonly number[]): Value {
    return this.#tensor(name, typeof shape === "number" ? [shape] : shape, "f32");
  }

  /** Elements of a vector that belong to such rows. */
  vectorRows(name: string, range: RowRange): Value {
    return this.#tensor(name, [range.of ?? range.rows], "f32", range);
  }

  /** A table of 32-bit integers. */
  integers(name: string, shape: readonly number[]): Value {
    return this.#tensor(name, shape, "integers");
  }

  optionalVector(name: string, length: number): Value | undefined {
    return this.has(name) ? this.vector(name, length) : undefined;
  }

  /** A vector of divisors, as f32. Loading it fails with a {@link ModelError} if an element is 0 or not finite. */
  divisors(name: string, length: number): Value {
    return this.#tensor(name, [length], "divisors");
  }

  /** See {@link WeightTable.ignore}. */
  ignore(...names: readonly string[]): void {
    this.#table.ignore(...names.map((name) => this.nameOf(name)));
  }

  #tensor(name: string, shape: readonly number[], as: WeightForm, range?: RowRange): Value {
    return this.#table.tensor(this.#part, this.nameOf(name), shape, as, range);
  }
}

function list(expected: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const rest = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  return [`expected ${expected} (${names.slice(0, maxNamed).join(", ")}${rest})`];
}

/** The type of a weight of this form in the program. */
function typeOf(info: TensorInfo, as: WeightForm): DType {
  if (as === "stored") return weightType(info);
  return as === "integers" ? requireIntegers(info) : "f32";
}

/** @throws {UnsupportedError} for types that no op multiplies with */
function weightType({ name, type }: TensorInfo): DType {
  const found = typeInProgram(type);
  if (found !== undefined) return found;
  throw new UnsupportedError(`tensor ${name}`, `weights of type ${type} are not computed`);
}

/** The type that a program's weights have if a file stores them as `type`. Undefined for types that no op multiplies with. */
export function typeInProgram(type: TensorInfo["type"]): DType | undefined {
  if (type === "f32" || isHalf(type)) return type;
  const isPlain = type === "f64" || type === "i8" || type === "i16" || type === "i32" || type === "i64";
  return !isPlain && isDequantizable(type) ? type : undefined;
}

/** @throws {UnsupportedError} unless it has 32-bit integers */
function requireIntegers({ name, type }: TensorInfo): DType {
  if (type === "i32") return type;
  throw new UnsupportedError(`tensor ${name}`, `a table of indices of type ${type} is not computed, only i32`);
}

/** Form of a weight in the program: its stored type, f32, f32 divisors, or 32-bit integers. */
type WeightForm = "stored" | "f32" | "divisors" | "integers";

/** Readers of weights by form. */
const weightMakers = { stored: storedWeight, f32: vectorWeight, divisors: divisorsWeight, integers: storedWeight } as const;

function storedWeight(name: string, file: GgufFile, info: TensorInfo, { from, rows, of }: Required<RowRange>): Weight {
  const rowBytes = info.bytes / of;
  const start = from * rowBytes;
  const bytes = rows * rowBytes;
  const source: TensorSource = {
    size: bytes,
    read: (offset, length, signal) => file.readTensor(info, { offset: start + offset, length, ...(signal && { signal }) }),
    ...(file.source.readInto && {
      readInto: (target: Uint8Array, offset: number, signal?: AbortSignal) =>
        file.readTensorInto(info, target, { offset: start + offset, ...(signal && { signal }) }),
    }),
  };
  return { name, source, bytes, offset: info.offset + start, stored: { tensor: info, from: start } };
}

function vectorWeight(name: string, file: GgufFile, info: TensorInfo, part: Required<RowRange>): Weight {
  return info.type === "f32" ? storedWeight(name, file, info, part) : decodedWeight(name, file, info, part, () => undefined);
}

function divisorsWeight(name: string, file: GgufFile, info: TensorInfo, part: Required<RowRange>): Weight {
  return decodedWeight(name, file, info, part, (values) => {
    const at = values.findIndex((value) => !isDivisor(value));
    if (at >= 0)
      throw new ModelError(
        `model: expected finite numbers other than 0 in ${name}, got ${values[at]} at ${at}; the file is damaged, or convert it again`,
      );
  });
}

/** A small tensor, decoded to f32 and checked at each read. */
function decodedWeight(
  name: string,
  file: GgufFile,
  info: TensorInfo,
  part: Required<RowRange>,
  check: (values: Float32Array) => void,
): Weight {
  const { blockBytes } = blockLayout("f32");
  const rowBytes = (info.elements / part.of) * blockBytes;
  const start = part.from * rowBytes;
  const size = part.rows * rowBytes;
  const source: TensorSource = {
    size,
    async read(offset, length, signal) {
      const values = await file.readTensorF32(info, signal && { signal });
      check(values);
      return new Uint8Array(values.buffer, values.byteOffset + start + offset, length);
    },
  };
  return { name, source, bytes: size, offset: info.offset };
}
