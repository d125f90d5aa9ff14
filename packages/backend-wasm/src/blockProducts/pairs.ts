import { type FunctionBuilder, i32, type Local, threadIndex, v128 } from "../emit/index.ts";
import { allQuads, groupRows } from "../formats/block.ts";
import type { GroupFormat } from "../formats/format.ts";
import { tileBytes, wordAt } from "./activations.ts";
import { blockAt, multiplyBlock, type Steps } from "./blockProduct.ts";
import { type Emission, groupScratchBytes, pairsAtOnce, places, rowBytes, tilesSignature } from "./groupEmission.ts";
import { type KeptWeights, keepWeights, otherGroup, stepElements } from "./keptWeights.ts";
import { memorySlot, type Slots, type Tokens } from "./products.ts";

/** Bytes of the sums of one group. */
const groupSumBytes = 2 * rowBytes * pairsAtOnce;

/**
 * Emits `pairs.<format>(w, a, y, rows, blocks, yBytes, threadScratch, tiles)`: tiles of two tokens and two groups. They
 * take fewer loads than four tokens and one group, if weights are unpacked beforehand: once per block for several
 * tiles. A single last group is multiplied twice.
 */
export function emitPairs({ module, target, name, format, layout, store }: Emission): void {
  const blockBytes = tileBytes(layout, format.elements, 2);
  const pairBytes = 2 * rowBytes;
  module.function(`pairs.${name}`, tilesSignature, (f, { w, a, y, rows, blocks, yBytes, threadScratch, tiles }) => {
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, groupScratchBytes)));
    const [weightsAt, allSums] = [f.let(i32.add(scratch, places.weights)), f.let(i32.add(scratch, places.sums))];
    const bytesPerTile = f.let(i32.mul(blocks, blockBytes));
    const groupBytes = f.let(i32.mul(blocks, groupRows * format.bytes));
    const [first, second, group, from, next, address, at, to] = f.locals("i32", 8);
    const [left, tile, rest, count, step] = f.locals("i32", 5);
    const sums: Slots = (token, quad) => memorySlot(f, at, (quad >> 1) * groupSumBytes + rowBytes * token + 16 * (quad & 1));
    const totals: Slots = (token, quad) => memorySlot(f, scratch, places.totals + 64 * token + 16 * quad);
    f.while(rows, () => {
      f.set(from, a);
      f.set(to, y);
      f.set(rest, tiles);
      f.while(rest, () => {
        f.set(count, i32.select(i32.ltU(rest, pairsAtOnce), rest, pairsAtOnce));
        f.set(at, allSums);
        f.set(tile, count);
        f.while(tile, () => {
          for (const token of [0, 1]) for (const quad of allQuads) sums(token, quad).set(v128.zero());
          f.advance(at, pairBytes);
          f.advance(tile, -1);
        });
        f.set(first, w);
        f.set(second, i32.add(w, i32.select(i32.gtU(rows, groupRows), groupBytes, 0)));
        f.set(next, from);
        f.set(left, blocks);
        f.while(left, () => {
          f.set(step, weightsAt);
          f.set(group, first);
          f.set(tile, i32.const(2));
          let kept!: KeptWeights;
          f.while(tile, () => {
            kept = keepWeights(blockAt(f, target, format, group), format, layout.lanes, step);
            f.set(group, second);
            f.advance(step, otherGroup);
            f.advance(tile, -1);
          });
          f.set(address, next);
          f.set(at, allSums);
          f.set(tile, count);
          f.while(tile, () => {
            const tokens = { layout, address, count: 2 };
            const block = { format, tokens, quads: allQuads, sums, totals };
            if (format.elements === stepElements) multiplyBlock(f, target, { ...block, weights: kept.at(weightsAt, weightsAt) });
            else {
              const steps = stepsOf(f, format, tokens, kept, weightsAt, step);
              multiplyBlock(f, target, { ...block, weights: kept.at(weightsAt, step), steps });
            }
            f.advance(address, bytesPerTile);
            f.advance(at, pairBytes);
            f.advance(tile, -1);
          });
          f.advance(first, groupRows * format.bytes);
          f.advance(second, groupRows * format.bytes);
          f.advance(next, blockBytes);
          f.advance(left, -1);
        });
        const tokens = f.let(i32.shl(count, 1));
        f.call(store, { y: to, scratch: allSums, yBytes, tokens, rows });
        f.if(i32.gtU(rows, groupRows), () => {
          const [y, scratch] = [i32.add(to, rowBytes), i32.add(allSums, groupSumBytes)];
          f.call(store, { y, scratch, yBytes, tokens, rows: i32.sub(rows, groupRows) });
        });
        f.advance(to, i32.mul(yBytes, tokens));
        f.advance(from, i32.mul(bytesPerTile, count));
        f.set(rest, i32.sub(rest, count));
      });
      f.set(w, second);
      f.advance(y, 2 * rowBytes);
      f.set(rows, i32.select(i32.gtU(rows, 2 * groupRows), i32.sub(rows, 2 * groupRows), 0));
    });
  });
}

/** Loops over a block by advancing pointers. */
function stepsOf(
  f: FunctionBuilder,
  { elements, runElements }: GroupFormat,
  tokens: Tokens,
  { stepBytes }: KeptWeights,
  weights: Local<"i32">,
  step: Local<"i32">,
): Steps {
  const [address, biases, left] = f.locals("i32", 3);
  const valueBytes = tokens.layout.lanes === "wide" ? 2 * stepElements : stepElements;
  return {
    tokens: { ...tokens, address, biases },
    repeat(body) {
      f.set(step, weights);
      f.set(address, tokens.address);
      f.set(biases, tokens.address);
      f.set(left, i32.const(elements / stepElements));
      f.while(left, () => {
        body();
        f.advance(step, stepBytes);
        f.advance(address, wordAt(valueBytes, 0, tokens.count));
        f.advance(biases, wordAt(4 * (stepElements / runElements), 0, tokens.count));
        f.advance(left, -1);
      });
    },
  };
}
