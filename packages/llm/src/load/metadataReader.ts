import { UnsupportedError } from "@centella/core";
import { type GgufFile, isNumericArray, type Metadata } from "@centella/gguf";
import { ModelError } from "../errors.ts";
import { isFactor } from "./factor.ts";

/** What the hyperparameters of a model are read from: an open file, or its metadata and tensors alone. */
export type ModelHeader = Pick<GgufFile, "metadata" | "tensors">;

/** Runs count positions in 32-bit integers. */
const mostTokens = 2 ** 31 - 1;

/** Values of an array that a message shows. */
const shownValues = 8;

const largestExtentName = "the largest extent of a tensor";

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
  readonly #mostBlocks: number;
  readonly #largestExtent: number;
  readonly #mostElements: number;

  constructor({ metadata, tensors }: ModelHeader, architecture: string) {
    this.metadata = metadata;
    this.architecture = architecture;
    this.#tensors = tensors;
    this.#mostBlocks = tensors.length;
    // Tensors without elements do not count: their extents cost the file nothing.
    const filled = tensors.filter(({ elements }) => elements > 0);
    this.#largestExtent = largest(filled.flatMap(({ shape }) => shape));
    this.#mostElements = largest(filled.map(({ elements }) => elements));
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
    return this.#bounded("block_count", this.#mostBlocks, "the number of tensors") ?? this.#absent("block_count");
  }

  /**
   * A size that some tensor's extent is a multiple of: heads, experts, the length of a vector. Undefined where the key is missing or 0:
   * converters write 0 for "not set". An array must hold one value for all layers.
   * @throws {UnsupportedError} if layers differ
   */
  size(name: string): number | undefined {
    return this.#bounded(name, this.#largestExtent, largestExtentName);
  }

  /** A size that the file must have. */
  requiredSize(name: string): number {
    return this.size(name) ?? this.#absent(name);
  }

  /**
   * The width of the feed-forward parts, which the file must have. Files state one even where every block is a mixture of experts and no
   * tensor has it, so the bound is wider than that of a {@link size}; it may size shapes alone.
   */
  requiredWidth(name: string): number {
    return this.#bounded(name, this.#mostElements, "the elements of the largest tensor") ?? this.#absent(name);
  }

  /** A number of tokens, or undefined where the key is missing or 0. */
  tokens(name: string): number | undefined {
    return this.#bounded(name, mostTokens, "the largest position");
  }

  /** A number of tokens that the file must have. */
  requiredTokens(name: string): number {
    return this.tokens(name) ?? this.#absent(name);
  }

  /**
   * A size that may be 0 in some layers, which have another kind of block: the value of the remaining layers, and which layers they are.
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
      value: value && this.#checked(name, value, this.#largestExtent, largestExtentName),
      has: (layer) => (listed[layer] ?? 0) !== 0,
    };
  }

  /** A finite number, or undefined where the key is missing or 0. */
  number(name: string): number | undefined {
    const value = this.metadata.optionalNumber(this.key(name));
    if (value !== undefined && !Number.isFinite(Math.fround(value))) throw this.#wrong(name, "a finite f32", value);
    return value || undefined;
  }

  /** A number above 0 that can multiply and divide in f32, or undefined where the key is missing or 0. */
  positive(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined || isFactor(value)) return value;
    throw this.#wrong(name, "a number above 0 whose reciprocal is finite in f32", value);
  }

  /** A positive number that the file must have. */
  requiredPositive(name: string): number {
    return this.positive(name) ?? this.#absent(name);
  }

  /** The epsilon of a norm, which the file must have and which may be 0. */
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

  /** One flag for each layer from an array of bools or numbers, a whole number that is no array unchanged, or undefined. */
  flags(name: string): readonly boolean[] | number | undefined {
    const key = this.key(name);
    const listed = this.#listed(name);
    if (listed !== undefined) return Array.from(listed, (flag) => flag !== 0);
    return typeof this.metadata.get(key) === "object" ? this.metadata.bools(key) : this.metadata.optionalCount(key);
  }

  /** @throws {ModelError} naming every required key that was asked for and is missing */
  finish(): void {
    if (this.#missing.size === 0) return;
    const keys = [...this.#missing].map((name) => this.key(name));
    throw new ModelError(`metadata: expected the keys ${keys.join(", ")}, got none of them; convert the model again`);
  }

  /** A count up to `most`, of an array the one that all layers share; undefined where the key is missing or 0. */
  #bounded(name: string, most: number, bound: string): number | undefined {
    const listed = this.#listed(name);
    const value =
      listed === undefined ? this.metadata.optionalCount(this.key(name)) : this.#common(name, listed, "equal ones are computed");
    return value === undefined ? undefined : this.#checked(name, value, most, bound) || undefined;
  }

  /** The first values of an array of numbers: layers have one each, and there are no more layers than tensors. */
  #listed(name: string): readonly number[] | undefined {
    const key = this.key(name);
    const value = this.metadata.get(key);
    if (!isNumericArray(value)) return undefined;
    return Array.from(value.subarray(0, this.#mostBlocks), Number);
  }

  /** The value that all layers have, undefined if there are none. */
  #common(name: string, values: readonly number[], computed: string): number | undefined {
    const [first, ...rest] = values;
    if (rest.every((value) => Object.is(value, first))) return first;
    const more = values.length > shownValues ? ", …" : "";
    throw new UnsupportedError(this.key(name), `the layers differ (${values.slice(0, shownValues).join(", ")}${more}), only ${computed}`);
  }

  #checked(name: string, value: number, most: number, bound: string): number {
    if (Number.isSafeInteger(value) && value >= 0 && value <= most) return value;
    throw this.#wrong(name, `a whole number from 0 to ${most}, ${bound},`, value);
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
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}
