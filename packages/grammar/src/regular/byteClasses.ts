import type { Meter } from "../budget.ts";

/** A partition of the bytes, its classes numbered by their first bytes. Equal partitions of one table are one object. */
export interface ByteClasses {
  readonly id: number;
  /** Class of each byte. */
  readonly of: Uint8Array;
  /** First byte of each class. */
  readonly firsts: readonly number[];
}

/** Estimated bytes of a partition, and of an entry in a table. */
const classesBytes = 500;
const entryBytes = 50;

/** Makes partitions, each once. A grammar has few, whatever the number of its states. */
export class ByteClassTable {
  readonly #meter: Meter;
  readonly #byHash = new Map<number, ByteClasses[]>();
  readonly #refined = new Map<number, ByteClasses>();
  #sole: ByteClasses[] = [];
  #nextId = 0;
  /** The partition with one class. */
  readonly all: ByteClasses;
  /** The partition into single bytes. */
  readonly single: ByteClasses;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.all = this.intern(new Uint8Array(256));
    this.single = this.intern(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  }

  /** Forgets all partitions. Those in use stay valid, and equal ones made later are other objects. */
  reset(): void {
    this.#byHash.clear();
    this.#refined.clear();
    this.#sole = [];
  }

  /** The partition whose classes are numbered as in `of`. The array is copied. */
  intern(of: Uint8Array): ByteClasses {
    let hash = 0;
    for (let byte = 0; byte < 256; byte++) hash = Math.imul(hash ^ of[byte]!, 0x01000193) + byte;
    const similar = this.#byHash.get(hash) ?? [];
    const known = similar.find((classes) => areEqual(classes.of, of));
    if (known !== undefined) return known;
    this.#meter.charge(classesBytes);
    const firsts: number[] = [];
    for (let byte = 0; byte < 256; byte++) if (of[byte] === firsts.length) firsts.push(byte);
    const classes = { id: this.#nextId++, of: of.slice(), firsts };
    this.#byHash.set(hash, [...similar, classes]);
    return classes;
  }

  /** The coarsest partition that is finer than both. */
  refine(a: ByteClasses, b: ByteClasses): ByteClasses {
    if (a === b || b === this.all) return a;
    if (a === this.all) return b;
    const key = a.id * 2 ** 26 + b.id;
    let refined = this.#refined.get(key);
    if (refined === undefined) {
      const numbers = new Map<number, number>();
      const of = a.of.map((inA, byte) => {
        const pair = inA * 256 + b.of[byte]!;
        let number = numbers.get(pair);
        if (number === undefined) {
          number = numbers.size;
          numbers.set(pair, number);
        }
        return number;
      });
      refined = this.intern(of);
      this.#meter.charge(entryBytes);
      this.#refined.set(key, refined);
    }
    return refined;
  }

  /** The partition into one byte and all others. */
  sole(byte: number): ByteClasses {
    this.#sole[byte] ??= this.intern(Uint8Array.from({ length: 256 }, (_, each) => Number((each === byte) !== (byte === 0))));
    return this.#sole[byte];
  }
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  for (let byte = 0; byte < 256; byte++) if (a[byte] !== b[byte]) return false;
  return true;
}
