import type { Reference } from "../reference/referenceType.ts";
import { philox4x32, type Words } from "./shared/philox.ts";

export const random: Reference<"random"> = ([draw], { seed, distribution }, y) => {
  const key = [seed >>> 0, Math.floor(seed / 2 ** 32)] as const;
  for (let at = 0; at < y.data.length; at += 4) {
    const block = at / 4;
    const words = philox4x32([block >>> 0, Math.floor(block / 2 ** 32), (draw?.data[0] ?? 0) >>> 0, 0], key);
    const values = distribution === "uniform" ? words.map(unit) : [...normalPair(words, 0), ...normalPair(words, 2)];
    y.data.set(values.slice(0, y.data.length - at), at);
  }
};

function unit(word: number): number {
  return (word >>> 8) * 2 ** -24;
}

function normalPair(words: Words, first: 0 | 2): readonly [number, number] {
  const radius = Math.sqrt(-2 * Math.log(unit(words[first]) + 2 ** -24));
  const angle = 2 * Math.PI * unit(words[first === 0 ? 1 : 3]);
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}
