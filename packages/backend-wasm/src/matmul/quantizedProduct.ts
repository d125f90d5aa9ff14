import { layoutOf } from "@centella/core";
import { type ActivationFormat, activationBlocks, activationBytes } from "../formats/activations.ts";
import { blockFormats, type FormatName } from "../formats/index.ts";
import { groupRows } from "../formats/interleave.ts";
import type { Exports, Pause } from "../kernel.ts";
import { rowBytesOf } from "../storedForm.ts";
import type { Call } from "../threads/pool.ts";
import { type Product, sharedUnits } from "./product.ts";

/** Tokens whose activations stay in the cache while rows of weights pass by. */
const tokenBlock = 32;

/** Bytes of scratch memory for {@link quantizedProduct} and {@link roundRows}. */
export function activationScratch(format: ActivationFormat, m: number, k: number): number {
  return m * activationBytes(format, k);
}

/** `y = round(a) · bᵀ` for block weights `b [n, k]`, rows interleaved or not, `a` rounded to the 8-bit blocks that go with them. */
export function quantizedProduct(
  exports: Exports,
  dtype: FormatName,
  isInterleaved: boolean,
  threads: number,
): (product: Product) => Iterable<Pause> {
  const { activation } = blockFormats[dtype];
  const quantize = quantizeRows(exports, activation);
  const dots = exports(`dots.${dtype}`);
  const groups = isInterleaved ? exports(`groups.${dtype}`) : undefined;
  const { elements } = layoutOf(dtype);
  return function* ({ a, b, y, m, n, k, scratch }) {
    yield* quantize(a, scratch, m * k);
    const blocks = k / elements;
    const rowBytes = rowBytesOf(dtype, k);
    const tokenBytes = activationBytes(activation, k);
    const grouped = groups === undefined ? 0 : n - (n % groupRows);
    const calls: Call[] = [];
    for (let token = 0; token < m; token += tokenBlock) {
      const tokens = Math.min(tokenBlock, m - token);
      const chunk = Math.ceil(sharedUnits(k * tokens, n * m * k, threads) / groupRows) * groupRows;
      const from = scratch + token * tokenBytes;
      for (let row = 0; row < n; ) {
        const rows = Math.min(chunk, (row < grouped ? grouped : n) - row);
        const [w, to] = [b + row * rowBytes, y + 4 * (token * n + row)];
        if (row < grouped) calls.push({ fn: groups!, args: [w, from, to, rows / groupRows, blocks, tokenBytes, 4 * n, tokens] });
        else calls.push({ fn: dots, args: [w, from, to, rows, blocks, rowBytes, tokenBytes, 4 * n, tokens] });
        row += rows;
      }
    }
    yield calls;
  };
}

/** Rounds `count` f32 (whole blocks) to 8 bits and back: `from -> to`, with room for the blocks at `scratch`. */
export function roundRows(
  exports: Exports,
  format: ActivationFormat,
): (from: number, to: number, count: number, scratch: number) => Iterable<Pause> {
  const quantize = quantizeRows(exports, format);
  const dequantize = exports(`dequantize.${format}`);
  return function* (from, to, count, scratch) {
    yield* quantize(from, scratch, count);
    dequantize(scratch, to, count / activationBlocks[format].elements);
    yield;
  };
}

function quantizeRows(exports: Exports, format: ActivationFormat): (from: number, to: number, count: number) => Iterable<Pause> {
  const quantize = exports(`quantize.${format}`);
  const { elements, bytes } = activationBlocks[format];
  const chunk = 2 ** 15 / elements;
  return function* (from, to, count) {
    const blocks = count / elements;
    const calls: Call[] = [];
    for (let block = 0; block < blocks; block += chunk) {
      calls.push({ fn: quantize, args: [from + 4 * block * elements, to + block * bytes, Math.min(chunk, blocks - block)] });
    }
    yield calls;
  };
}
