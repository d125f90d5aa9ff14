import { UnsupportedError } from "@centella/core";
import { type GgufFile, isNumericArray, type Metadata } from "@centella/gguf";
import { ModelError } from "../errors.ts";
import { isFactor } from "./factor.ts";

/** Source of a model's hyperparameters: an open file, or only its metadata and tensors. */
export type ModelHeader = Pick<GgufFile, "metadata" | "tensors">;

/** Positions are 32-bit integers. */
const maxTokens = 2 ** 31 - 1;

/** Maximum number of an array's values in an error message. */
const shownValues = 8;

const maxExtentName = "the largest extent of a tensor";

/**
 * Reads the hyperparameters of one architecture. The reader bounds every number before it can size a loop or an allocation: blocks by
 * the number of tensors, sizes by the largest extent of any tensor, and the remaining numbers by what an f32 holds. It remembers which
 * required keys are missing, so that one error names all of them.
 */
export class MetadataReader {
  readonly metadata: Metadata;
  readonly architecture: string;
  readonly #tensors: ModelHeader["tensors"];
  readonly #missing = new Set<string>();
  readonly #maxBlocks: number;
  readonly #maxExtent: number;
  readonly #maxElements: number;

  constructor({ metadata, tensors }: ModelHeader, architecture: string) {
    this.metadata = metadata;
    this.architecture = architecture;
    this.#tensors = tensors;
    this.#maxBlocks = tensors.length;
    // Tensors without elements do not count, because a file can claim any extents for them.
    const filled = tensors.filter(({ elements }) => elements > 0);
    this.#maxExtent = largest(filled.flatMap(({ shape }) => shape));
    this.#maxElements = largest(filled.map(({ elements }) => elements));
  }

  /** The name of a key in the file. */
  key(name: string): string {
    return `${this.architecture}.${name}`;
  }

  /** Whether the file has a tensor of this name. */
  hasTensor(name: string): boolean {
    return this.#tensors.some((tensor) => tensor.name === name);
  }

  /** The number of blocks, from 1. Each block has at least one tensor. */
  requiredBlocks(): number {
    return this.#bounded("block_count", this.#maxBlocks, "the number of tensors") ?? this.#absent("block_count");
  }

  /**
   * A size that divides an extent of some tensor: heads, experts, the length of a vector. Undefined if the key is missing or 0, which
   * converters write for "not set". All values of an array must be equal.
   * @throws {UnsupportedError} if layers differ
   */
  size(name: string): number | undefined {
    return this.#bounded(name, this.#maxExtent, maxExtentName);
  }

  /** A size that the file must have. */
  requiredSize(name: string): number {
    return this.size(name) ?? this.#absent(name);
  }

  /**
   * The width of the feed-forward layers, which the file must have. Files state it even if every block is a mixture of experts and no tensor
   * has this extent, so the bound is wider than that of {@link size}. Use the value for shapes only.
   */
  requiredWidth(name: string): number {
    return this.#bounded(name, this.#maxElements, "the elements of the largest tensor") ?? this.#absent(name);
  }

  /** A number of tokens. Undefined if the key is missing or 0. */
  tokens(name: string): number | undefined {
    return this.#bounded(name, maxTokens, "the largest position");
  }

  /** A number of tokens that the file must have. */
  requiredTokens(name: string): number {
    return this.tokens(name) ?? this.#absent(name);
  }

  /**
   * A size that is 0 in layers with another kind of block. Returns the value of the remaining layers, and which layers these are.
   * @throws {UnsupportedError} if the remaining layers differ
   */
  layerSize(name: string): { readonly value: number | undefined; readonly has: (layer: number) => boolean } {
    const listed = this.#listed(name);
    if (listed === undefined) return { value: this.size(name), has: () => true };
    const value = this.#common(
      name,
      listed.filter((size) => size !== 0),
      "equal ones and 0 are computed",
    );
    return {
      value: value && this.#checked(name, value, this.#maxExtent, maxExtentName),
      has: (layer) => (listed[layer] ?? 0) !== 0,
    };
  }

  /** A size of each layer, from an array or from one number for all. Undefined for layers where it is missing or 0. */
  sizes(name: string): (layer: number) => number | undefined {
    const listed = this.#listed(name)?.map((size) => this.#checked(name, size, this.#maxExtent, maxExtentName));
    const size = listed === undefined ? this.size(name) : undefined;
    return (layer) => listed?.[layer] || size;
  }

  /** A finite number. Undefined if the key is missing or 0. */
  number(name: string): number | undefined {
    const value = this.metadata.optionalNumber(this.key(name));
    if (value !== undefined && !Number.isFinite(Math.fround(value))) throw this.#wrong(name, "a finite f32", value);
    return value || undefined;
  }

  /** A number above 0 that can multiply and divide in f32. Undefined if the key is missing or 0. */
  positive(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined || isFactor(value)) return value;
    throw this.#wrong(name, "a number above 0 whose reciprocal is finite in f32", value);
  }

  /** A positive number that the file must have. */
  requiredPositive(name: string): number {
    return this.positive(name) ?? this.#absent(name);
  }

  /** The epsilon of a norm, which the file must have. It may be 0. */
  requiredEpsilon(name: string): number {
    if (!this.metadata.has(this.key(name))) return this.#absent(name);
    const value = this.number(name) ?? 0;
    if (value < 0) throw this.#wrong(name, "a number from 0", value);
    return value;
  }

  string(name: string): string | undefined {
    return this.metadata.optionalString(this.key(name));
  }

  bool(name: string): boolean | undefined {
    return this.metadata.optionalBool(this.key(name));
  }

  /** A flag that the file must have. */
  requiredBool(name: string): boolean {
    return this.bool(name) ?? Boolean(this.#absent(name));
  }

  /** One flag for each layer from an array of bools or numbers, a whole number unchanged, or undefined if the key is missing. */
  flags(name: string): readonly boolean[] | number | undefined {
    const key = this.key(name);
    const listed = this.#listed(name);
    if (listed !== undefined) return Array.from(listed, (flag) => flag !== 0);
    return typeof this.metadata.get(key) === "object" ? this.metadata.bools(key) : this.metadata.optionalCount(key);
  }

  /** @throws {ModelError} naming every required key that was read and is missing */
  finish(): void {
    if (this.#missing.size === 0) return;
    const keys = [...this.#missing].map((name) => this.key(name));
    throw new ModelError(`metadata: expected the keys ${keys.join(", ")}, got none of them; convert the model again`);
  }

  /** A count up to `max`; for an array, the value that all layers share. Undefined if the key is missing or 0. */
  #bounded(name: string, max: number, bound: string): number | undefined {
    const listed = this.#listed(name);
    const value =
      listed === undefined ? this.metadata.optionalCount(this.key(name)) : this.#common(name, listed, "equal ones are computed");
    return value === undefined ? undefined : this.#checked(name, value, max, bound) || undefined;
  }

  /** The values of an array of numbers, one for each layer. There are no more layers than tensors. */
  #listed(name: string): readonly number[] | undefined {
    const key = this.key(name);
    const value = this.metadata.get(key);
    if (!isNumericArray(value)) return undefined;
    return Array.from(value.subarray(0, this.#maxBlocks), Number);
  }

  /** The value that all layers have; undefined if there are none. */
  #common(name: string, values: readonly number[], computed: string): number | undefined {
    const [first, ...rest] = values;
    if (rest.every((value) => Object.is(value, first))) return first;
    const more = values.length > shownValues ? ", …" : "";
    throw new UnsupportedError(this.key(name), `the layers differ (${values.slice(0, shownValues).join(", ")}${more}), only ${computed}`);
  }

  #checked(name: string, value: number, max: number, bound: string): number {
    if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
    throw this.#wrong(name, `a whole number from 0 to ${max}, ${bound},`, value);
  }

  #wrong(name: string, expected: string, got: number): ModelError {
    return new ModelError(
      `metadata: expected ${expected} for ${this.key(name)}, got ${got}; the file is damaged, or convert the model again`,
    );
  }

  #absent(name: string): number {
    this.#missing.add(name);
    return 1;
  }
}

function largest(numbers: readonly number[]): number {
  return numbers.reduce((max, number) => Math.max(max, number), 0);
}
