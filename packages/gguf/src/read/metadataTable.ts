import type { ByteOrder } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import { shown } from "../shown.ts";
import { decodeArray, decodeScalar, valueTypeAt } from "./decodeValues.ts";
import type { MetadataArray, MetadataEntry, MetadataLookup } from "./metadata.ts";

/** Larger arrays are kept when they have been decoded, so that they are so once. */
const keptBytes = 1024;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();
/** Random per process, so that no file can be made of keys that all have the same hash. */
const seed = Math.floor(Math.random() * 2 ** 32);

/**
 * Metadata as the file holds it: its bytes, where each entry begins, and an index of the keys, all in typed arrays. Entries become objects
 * when they are asked for, so half a million of them cost little more than their bytes.
 */
export class MetadataTable implements MetadataLookup {
  readonly size: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #isLittle: boolean;
  readonly #starts: Uint32Array;
  /** Places of a hash table with linear probing: the number of an entry plus one, or 0. */
  readonly #places: Uint32Array;
  readonly #kept = new Map<number, MetadataArray>();

  /**
   * `bytes` have been checked and begin at `offset` of the file; `starts` has where each entry begins in them, and where another would.
   * @throws {GgufError} `duplicate`
   */
  constructor(bytes: Uint8Array, starts: Uint32Array, byteOrder: ByteOrder, offset: number) {
    this.size = starts.length - 1;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#isLittle = byteOrder === "little";
    this.#starts = starts;
    this.#places = new Uint32Array(2 ** Math.ceil(Math.log2(1.5 * this.size + 1)));
    for (let i = 0; i < this.size; i++) {
      const key = this.#keyBytes(i);
      const place = this.#placeOf(key);
      if (this.#places[place] !== 0) {
        const got = `'${shown(decoder.decode(key))}' twice`;
        throw new GgufError("duplicate", { expected: "every key once", got, offset: offset + this.#startOf(i) });
      }
      this.#places[place] = i + 1;
    }
  }

  has(key: string): boolean {
    return this.#indexOf(key) >= 0;
  }

  get(key: string): MetadataEntry | undefined {
    const i = this.#indexOf(key);
    return i < 0 ? undefined : this.#entry(i);
  }

  *keys(): Generator<string, undefined, undefined> {
    for (let i = 0; i < this.size; i++) yield decoder.decode(this.#keyBytes(i));
  }

  *values(): Generator<MetadataEntry, undefined, undefined> {
    for (let i = 0; i < this.size; i++) yield this.#entry(i);
  }

  #entry(i: number): MetadataEntry {
    const keyBytes = this.#keyBytes(i);
    const key = decoder.decode(keyBytes);
    const typeAt = this.#startOf(i) + 8 + keyBytes.length;
    const data = { bytes: this.#bytes, view: this.#view, isLittle: this.#isLittle };
    const type = valueTypeAt(data, typeAt);
    if (type !== "array") return { key, type, value: decodeScalar(data, typeAt + 4, type) };
    const elementType = valueTypeAt(data, typeAt + 4);
    const kept = this.#kept.get(i);
    if (kept !== undefined) return { key, type, elementType, value: kept };
    const { value } = decodeArray(data, typeAt + 4);
    if (this.#startOf(i + 1) - typeAt > keptBytes) this.#kept.set(i, value);
    return { key, type, elementType, value };
  }

  #startOf(i: number): number {
    return this.#starts[i]!;
  }

  #keyBytes(i: number): Uint8Array {
    const start = this.#startOf(i);
    const length = this.#view.getUint32(this.#isLittle ? start : start + 4, this.#isLittle);
    return this.#bytes.subarray(start + 8, start + 8 + length);
  }

  #indexOf(key: string): number {
    return this.#places[this.#placeOf(encoder.encode(key))]! - 1;
  }

  /** The place that has this key, or the free one where it would be. */
  #placeOf(key: Uint8Array): number {
    const mask = this.#places.length - 1;
    let place = hash(key) & mask;
    for (let probes = 0; ; probes++) {
      const found = this.#places[place]!;
      if (found === 0 || this.#isKey(found - 1, key)) return place;
      if (probes > limits.keyProbes) throw new GgufError("limit", { expected: "keys that differ in their hashes", got: "too many alike" });
      place = (place + 1) & mask;
    }
  }

  #isKey(i: number, key: Uint8Array): boolean {
    const start = this.#startOf(i);
    if (this.#view.getUint32(this.#isLittle ? start : start + 4, this.#isLittle) !== key.length) return false;
    for (let k = 0; k < key.length; k++) if (this.#bytes[start + 8 + k] !== key[k]) return false;
    return true;
  }
}

/** FNV-1a with a start of its own, and the final mix of MurmurHash3, since keys that are counted up differ in their last bytes alone. */
function hash(bytes: Uint8Array): number {
  let h = seed;
  for (const byte of bytes) {
    h = Math.imul(h ^ byte, 0x01000193);
    h ^= h >>> 15;
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
