import { type FunctionBuilder, i32x4, type V128, v128 } from "../emit/index.ts";

/** A bit of one of the words that exchange bits. */
export type BitPlace = readonly [word: number, bit: number];

/** Bits of word `from` that word `to` gets: shifted to the left, or to the right if `shift` is negative, where `mask` is 1. */
export interface BitMove {
  readonly from: number;
  readonly to: number;
  readonly shift: number;
  readonly mask: number;
}

/** The same move of a bit in each byte of a word. */
export function inEachByte([from, to]: readonly [BitPlace, BitPlace]): readonly (readonly [BitPlace, BitPlace])[] {
  return [0, 8, 16, 24].map((byte) => [
    [from[0], from[1] + byte],
    [to[0], to[1] + byte],
  ]);
}

/** Merges moves of single bits by words and distance. */
export function bitMoves(pairs: readonly (readonly [from: BitPlace, to: BitPlace])[]): readonly BitMove[] {
  const moves = new Map<string, BitMove>();
  for (const [[from, bit], [to, target]] of pairs) {
    const shift = target - bit;
    const key = `${from} ${to} ${shift}`;
    moves.set(key, { from, to, shift, mask: ((moves.get(key)?.mask ?? 0) | (1 << target)) >>> 0 });
  }
  return [...moves.values()];
}

/** Emits the moves of all bits of words to new words, four at a time. */
export function moveWords(f: FunctionBuilder, moves: readonly BitMove[], words: readonly V128[]): readonly V128[] {
  return words.map((_, word) =>
    moves
      .filter(({ to }) => to === word)
      .map(({ from, shift, mask }) => {
        const bits = words[from] ?? v128.zero();
        const moved = shift > 0 ? i32x4.shl(bits, shift) : shift < 0 ? i32x4.shrU(bits, -shift) : bits;
        return v128.and(moved, f.splatBits(mask));
      })
      .reduce((all, more) => v128.or(all, more)),
  );
}
