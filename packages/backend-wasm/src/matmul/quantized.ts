import { i32, type ModuleBuilder, v128 } from "../emit/index.ts";
import { activationBlocks } from "../formats/activations.ts";
import type { BlockFormat } from "../formats/format.ts";
import { blockFormats } from "../formats/index.ts";
import type { Target } from "../target.ts";
import { laneSum } from "./lanes.ts";

/** Tokens that share one pass over the weights. */
export const tokensPerPass = 4;

/**
 * Emits `dots.<dtype>(w, a, y, rows, blocks, rowBytes, tokenBytes, yBytes, tokens)`: block weights times activations that were
 * rounded to 8 bits, `y[token][row]`. Each output adds its blocks in order, in four partial sums that are added as
 * `(s0 + s1) + (s2 + s3)`: the same for any number of tokens.
 */
export function emitQuantized(module: ModuleBuilder, target: Target): void {
  const signature = {
    w: "i32",
    a: "i32",
    y: "i32",
    rows: "i32",
    blocks: "i32",
    rowBytes: "i32",
    tokenBytes: "i32",
    yBytes: "i32",
    tokens: "i32",
  } as const;
  for (const [dtype, format] of Object.entries<BlockFormat>(blockFormats)) {
    const { bytes: activationBytes } = activationBlocks[format.activation];
    module.function(`dots.${dtype}`, signature, (f, { w, a, y, rows, blocks, rowBytes, tokenBytes, yBytes, tokens }) => {
      const [first, to, left, count] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
      const tile = (weightRows: number, tileTokens: number): void => {
        const weights = f.locals("i32", weightRows);
        const activations = f.locals("i32", tileTokens);
        const sums = weights.map(() => f.locals("v128", tileTokens));
        weights.forEach((weight, row) => void f.set(weight, i32.add(w, i32.mul(row, rowBytes))));
        activations.forEach((activation, token) => void f.set(activation, i32.add(first, i32.mul(token, tokenBytes))));
        for (const sum of sums.flat()) f.set(sum, v128.zero());
        f.set(left, blocks);
        f.while(left, () => {
          weights.forEach((weight, row) => {
            format.dot(f, target, { weight, activations, accumulators: sums[row]! });
            f.advance(weight, format.bytes);
          });
          for (const activation of activations) f.advance(activation, activationBytes);
          f.advance(left, -1);
        });
        for (let token = 0; token < tileTokens; token++) {
          sums.forEach((row, index) => void f.store(to, laneSum(row[token]!), 4 * index));
          f.advance(to, yBytes);
        }
        f.set(first, i32.add(first, i32.mul(tileTokens, tokenBytes)));
        f.advance(count, -tileTokens);
      };
      const allTokens = (weightRows: number, body: () => void): void => {
        f.set(first, a);
        f.set(to, y);
        f.set(count, tokens);
        body();
        f.advance(w, i32.mul(rowBytes, weightRows));
        f.advance(y, 4 * weightRows);
        f.advance(rows, -weightRows);
      };
      f.if(i32.eq(tokens, 1), () => f.while(i32.geU(rows, 2), () => allTokens(2, () => tile(2, 1))));
      f.while(rows, () => {
        allTokens(1, () => {
          f.while(i32.geU(count, tokensPerPass), () => tile(1, tokensPerPass));
          f.while(count, () => tile(1, 1));
        });
      });
    });
  }
}
