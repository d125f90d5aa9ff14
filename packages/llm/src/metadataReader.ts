import { UnsupportedError } from "@centella/core";
import { isNumericArray, type Metadata } from "@centella/gguf";
import { ModelError } from "./errors.ts";

/** Reads the keys of one architecture and remembers which required ones are missing, so that all are named at once. */
export class MetadataReader {
  readonly metadata: Metadata;
  readonly #prefix: string;
  readonly #missing: string[] = [];

  constructor(metadata: Metadata, architecture: string) {
    this.metadata = metadata;
    this.#prefix = `${architecture}.`;
  }

  /** A count that the file must have, from 1. */
  requiredCount(name: string): number {
    return this.count(name) ?? this.#absent(name);
  }

  /** A number that the file must have. */
  requiredNumber(name: string): number {
    return this.metadata.optionalNumber(this.#prefix + name) ?? this.#absent(name);
  }

  /**
   * A count, or undefined where the key is missing or 0: converters write 0 for "not set". An array must hold one value
   * for all layers.
   * @throws {UnsupportedError} if layers differ
   */
  count(name: string): number | undefined {
    const key = this.#prefix + name;
    const value = this.metadata.get(key);
    if (value === undefined || !isNumericArray(value)) return this.metadata.optionalCount(key) || undefined;
    const [first, ...rest] = this.metadata.numbers(key);
    if (rest.some((other) => other !== first)) {
      throw new UnsupportedError(key, `the layers differ (${[first, ...rest].join(", ")}), only equal ones are computed`);
    }
    return first || undefined;
  }

  /**
   * A count that may be 0 in some layers, where those have another kind of block: the one value of the rest and which layers they are.
   * @throws {UnsupportedError} if the rest differ
   */
  layerCount(name: string): { readonly value: number | undefined; readonly has: (layer: number) => boolean } {
    const key = this.#prefix + name;
    const value = this.metadata.get(key);
    if (value === undefined || !isNumericArray(value)) return { value: this.count(name), has: () => true };
    const counts = Array.from(this.metadata.numbers(key));
    const [first, ...rest] = counts.filter((count) => count !== 0);
    if (rest.some((other) => other !== first)) {
      throw new UnsupportedError(key, `the layers differ (${counts.join(", ")}), only equal ones and 0 are computed`);
    }
    return { value: first, has: (layer) => (counts[layer] ?? 0) !== 0 };
  }

  /** A number, or undefined where the key is missing or 0. */
  number(name: string): number | undefined {
    return this.metadata.optionalNumber(this.#prefix + name) || undefined;
  }

  string(name: string): string | undefined {
    return this.metadata.optionalString(this.#prefix + name);
  }

  bool(name: string): boolean | undefined {
    return this.metadata.optionalBool(this.#prefix + name);
  }

  /** One flag for each layer from an array of truth values or numbers, a number that is no array as it is, or undefined. */
  flags(name: string): readonly boolean[] | number | undefined {
    const key = this.#prefix + name;
    const value = this.metadata.get(key);
    if (value === undefined) return undefined;
    if (isNumericArray(value)) return Array.from(this.metadata.numbers(key), (flag) => flag !== 0);
    if (typeof value === "object") return this.metadata.bools(key);
    return this.metadata.count(key);
  }

  /** @throws {ModelError} naming every required key that was asked for and is missing */
  finish(): void {
    if (this.#missing.length === 0) return;
    const keys = this.#missing.map((name) => this.#prefix + name);
    throw new ModelError(`metadata: expected the keys ${keys.join(", ")}, got none of them; convert the model again`);
  }

  #absent(name: string): number {
    this.#missing.push(name);
    return 1;
  }
}
