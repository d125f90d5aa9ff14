import { describe, expect, test } from "vitest";
import { ResultHolder, type ResultMemory } from "../src/backend/heldResults.ts";

/** Results of one number each, in memory that counts how often it is given back. */
class CountedMemory implements ResultMemory {
  isLost = false;
  releases = 0;
  copies = 0;
  readonly bytes: number;
  readonly #values: readonly number[];

  constructor(bytes: number, ...values: readonly number[]) {
    this.bytes = bytes;
    this.#values = values;
  }

  get count(): number {
    return this.#values.length;
  }

  copy(index: number): Float32Array<ArrayBuffer> {
    const target = new Float32Array(1);
    this.copyTo(index, target);
    return target;
  }

  copyTo(index: number, target: Float32Array): void {
    this.copies++;
    target.set([this.#values[index]!]);
  }

  release(): void {
    this.releases++;
  }
}

const lost = new Error("the device was lost");
const holderOf = (maxBytes: number): ResultHolder => new ResultHolder(maxBytes, () => lost);

describe("held results", () => {
  test("are copied once by each reader, and give their memory back with the last of them", () => {
    const memory = new CountedMemory(8, 1, 2);
    const results = holderOf(100).hold(memory);
    expect(results.read(1)).toEqual(Float32Array.of(2));
    const target = new Float32Array(1);
    results.readInto(0, target);
    expect([target[0], memory.copies]).toEqual([1, 2]);
    results.free(1);
    results.free(1);
    expect(memory.releases).toBe(0);
    results.free(0);
    expect(memory.releases).toBe(1);
  });

  test("are copied to arrays when there are more, the oldest first, and without those that are freed", () => {
    const holder = holderOf(20);
    const [first, second, third] = [new CountedMemory(10, 1, 2), new CountedMemory(10, 3), new CountedMemory(10, 4)];
    const results = [first, second, third].map((memory, i) => {
      const held = holder.hold(memory);
      if (i === 0) held.free(0);
      return held;
    });
    expect([first, second, third].map(({ releases }) => releases)).toEqual([1, 0, 0]);
    expect(first.copies).toBe(1);
    expect(results[0]!.read(1)).toEqual(Float32Array.of(2));
    results[0]!.free(1);
    expect(first.releases).toBe(1);
    // It is larger than all that may be held, and is held nonetheless until others come.
    const large = new CountedMemory(50, 5);
    holder.hold(large);
    expect([first, second, third, large].map(({ releases }) => releases)).toEqual([1, 1, 1, 0]);
    holder.settle();
    expect(large.releases).toBe(1);
  });

  test("are refused once their memory is lost; those in arrays stay", () => {
    const holder = holderOf(100);
    const [early, late] = [new CountedMemory(10, 1), new CountedMemory(10, 2)];
    const [settled, held] = [holder.hold(early), holder.hold(late)];
    expect(settled.peek(0)).toEqual(Float32Array.of(1));
    for (const memory of [early, late]) memory.isLost = true;
    expect(settled.read(0)).toEqual(Float32Array.of(1));
    expect(() => held.read(0)).toThrow(lost);
    expect(() => held.peek(0)).toThrow(lost);
    expect(() => held.read(0)).toThrow(lost);
    expect([early, late].map(({ releases }) => releases)).toEqual([1, 1]);
  });
});
