import { layoutOf } from "@centella/core";
import { i32, type ModuleBuilder, v128 } from "../emit/index.ts";
import { activationBlocks } from "../formats/activations.ts";
import { blockFormats, formatNames } from "../formats/index.ts";
import { groupRows } from "../formats/interleave.ts";
import { groupDots } from "../formats/interleaved.ts";

/** Tokens that share one pass over a group of rows, most first. */
const passes = [4, 2, 1] as const;

/**
 * Emits `groups.<dtype>(w, a, y, groups, blocks, tokenBytes, yBytes, tokens)`: groups of eight interleaved rows times activations
 * that were rounded to 8 bits, `y[token][row]`. Each output adds its blocks in order, whatever the number of tokens.
 */
export function emitInterleaved(module: ModuleBuilder): void {
  const signature = {
    w: "i32",
    a: "i32",
    y: "i32",
    groups: "i32",
    blocks: "i32",
    tokenBytes: "i32",
    yBytes: "i32",
    tokens: "i32",
  } as const;
  for (const dtype of formatNames) {
    const activationBytes = activationBlocks[blockFormats[dtype].activation].bytes;
    const blockBytes = groupRows * layoutOf(dtype).bytes;
    module.function(`groups.${dtype}`, signature, (f, { w, a, y, groups, blocks, tokenBytes, yBytes, tokens }) => {
      const [group, first, to, left, count] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
      const tile = (size: number): void => {
        const activations = f.locals("i32", size);
        const accumulators = activations.map(() => [f.local("v128"), f.local("v128")] as const);
        activations.forEach((activation, token) => void f.set(activation, i32.add(first, i32.mul(token, tokenBytes))));
        for (const sum of accumulators.flat()) f.set(sum, v128.zero());
        f.set(group, w);
        f.set(left, blocks);
        f.while(left, () => {
          groupDots[dtype](f, { group, activations, accumulators });
          f.advance(group, blockBytes);
          for (const activation of activations) f.advance(activation, activationBytes);
          f.advance(left, -1);
        });
        for (const [low, high] of accumulators) {
          f.store(to, low);
          f.store(to, high, 16);
          f.advance(to, yBytes);
        }
        f.advance(first, i32.mul(size, tokenBytes));
        f.advance(count, -size);
      };
      f.while(groups, () => {
        f.set(first, a);
        f.set(to, y);
        f.set(count, tokens);
        for (const size of passes) f.while(i32.geU(count, size), () => tile(size));
        f.set(w, group);
        f.advance(y, 4 * groupRows);
        f.advance(groups, -1);
      });
    });
  }
}
