import { tupleOf } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../../ptx/builder.ts";
import { shifted } from "../../weights/scales.ts";

/** Makes levels bytes without a sign. */
export const levelBias = 128;

/**
 * A function that replaces the eight codes of a word, four bits each, by their levels, each a byte larger by {@link levelBias}: those of the
 * lower half of the word, then those of the upper one.
 */
export function levelReader(k: PtxBuilder, levels: readonly number[]): (word: U32) => readonly [U32, U32] {
  const bytes = Uint8Array.from(levels, (level) => level + levelBias);
  const [first, second, third, fourth] = tupleOf([...new Uint32Array(bytes.buffer)], 4);
  const [low, high] = [k.constant("u32", first), k.constant("u32", third)];
  return (word) => {
    // A byte is picked by three bits of a nibble, once from each half of the levels. The fourth bit then says which of the two counts.
    const places = k.and(word, 0x77777777);
    const choices = k.logic3((a, b, c) => (a & b) | c, k.shiftRight(word, 1), 0x44444444, 0x32103210);
    const four = (shift: number): U32 => {
      const place = shifted(k, places, shift);
      return k.pickBytes(k.pickBytes(low, second, place), k.pickBytes(high, fourth, place), shifted(k, choices, shift));
    };
    return [four(0), four(16)];
  };
}
