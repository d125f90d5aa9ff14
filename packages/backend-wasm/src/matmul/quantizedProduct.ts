import { layoutOf } from "@centella/core";
import { type ActivationFormat, activationBlocks, activationBytes } from "../formats/activations.ts";
import { blockFormats, type FormatName } from "../formats/index.ts";
import type { Exports } from "../kernel.ts";
import { Pacer, type Product } from "./product.ts";

/** Tokens whose activations stay in the cache while rows of weights pass by. */
const tokenBlock = 32;

/** Bytes of scratch memory for {@link quantizedProduct} and {@link roundRows}. */
export function activationScratch(format: ActivationFormat, m: number, k: number): number {
  return m * activationBytes(format, k);
}

/** `y = round(a) · bᵀ` for block weights `b [n, k]`, `a` rounded to the 8-bit blocks that go with them. */
export function quantizedProduct(exports: Exports, dtype: FormatName): (product: Product) => Iterable<void> {
  const { activation } = blockFormats[dtype];
  const quantize = quantizeRows(exports, activation);
  const dots = exports(`dots.${dtype}`);
  const { elements, bytes } = layoutOf(dtype);
  return function* ({ a, b, y, m, n, k, scratch }) {
    yield* quantize(a, scratch, m * k);
    const blocks = k / elements;
    const rowBytes = blocks * bytes;
    const tokenBytes = activationBytes(activation, k);
    for (let token = 0; token < m; token += tokenBlock) {
      const tokens = Math.min(tokenBlock, m - token);
      const chunk = Pacer.units(k * tokens);
      for (let row = 0; row < n; row += chunk) {
        const to = y + 4 * (token * n + row);
        dots(b + row * rowBytes, scratch + token * tokenBytes, to, Math.min(chunk, n - row), blocks, rowBytes, tokenBytes, 4 * n, tokens);
        yield;
      }
    }
  };
}

/** Rounds `count` f32 (whole blocks) to 8 bits and back: `from -> to`, with room for the blocks at `scratch`. */
export function roundRows(
  exports: Exports,
  format: ActivationFormat,
): (from: number, to: number, count: number, scratch: number) => Iterable<void> {
  const quantize = quantizeRows(exports, format);
  const dequantize = exports(`dequantize.${format}`);
  return function* (from, to, count, scratch) {
    yield* quantize(from, scratch, count);
    dequantize(scratch, to, count / activationBlocks[format].elements);
    yield;
  };
}

function quantizeRows(exports: Exports, format: ActivationFormat): (from: number, to: number, count: number) => Iterable<void> {
  const quantize = exports(`quantize.${format}`);
  const { elements, bytes } = activationBlocks[format];
  const chunk = 2 ** 20 / elements;
  return function* (from, to, count) {
    const blocks = count / elements;
    for (let block = 0; block < blocks; block += chunk) {
      quantize(from + 4 * block * elements, to + block * bytes, Math.min(chunk, blocks - block));
      yield;
    }
  };
}
