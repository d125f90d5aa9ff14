// Kernels of one token times block weights that decodeBound.mjs compares with those of the package.
import { activationLayout, lanesFor, tileBytes } from "../build/esm/blockProducts/activations.js";
import { blockAt, multiplyBlock } from "../build/esm/blockProducts/blockProduct.js";
import { dotFormat } from "../build/esm/blockProducts/dotFormat.js";
import { singleSignature } from "../build/esm/blockProducts/groupEmission.js";
import { localSlot } from "../build/esm/blockProducts/products.js";
import { blockWeights } from "../build/esm/blockProducts/weights.js";
import { i32, i32x4, v128 } from "../build/esm/emit/index.js";
import { allQuads, groupRows, halves } from "../build/esm/formats/block.js";
import { formatOf } from "../build/esm/formats/index.js";

/** A format and the layout of one token's activations, on a target. */
export function decodeFormat(name, target) {
  const format = dotFormat(formatOf(name), target);
  return { target, format, layout: activationLayout(format.rounding, lanesFor(format, target, 1)) };
}

/** The same products without the scales and minima of runs, and with one scale that is not loaded. */
export function productsOnly({ format, ...rest }) {
  const { scales, minima, m, ...products } = format;
  return { ...rest, format: { ...products, d: ({ f }) => f.splat(1) } };
}

/**
 * Emits products of `rows` rows, a multiple of `8 * streams`. `streams` groups, far apart, share a load of activations. One vector is read
 * `ahead` bytes ahead of each block's weights.
 */
export function emitKernel(module, name, { target, format, layout }, { streams = 1, ahead = 0 }) {
  module.function(name, singleSignature, (f, { w, a, y, rows, blocks }) => {
    const [address, left] = f.locals("i32", 2);
    const pointers = f.locals("i32", streams);
    const count = f.let(i32.divU(rows, groupRows * streams));
    const distance = f.let(i32.mul(i32.mul(count, blocks), groupRows * format.bytes));
    for (const [i, pointer] of pointers.entries()) f.set(pointer, i32.add(w, i32.mul(distance, i)));
    const last = f.let(i32.sub(i32.add(w, i32.mul(distance, streams)), 16));
    const sums = f.locals("v128", halves.length * streams);
    f.while(count, () => {
      f.set(address, a);
      for (const sum of sums) f.set(sum, v128.zero());
      f.set(left, blocks);
      f.while(left, () => {
        multiply(f, { target, format, layout }, pointers, address, sums);
        for (const pointer of pointers) {
          const next = f.let(i32.add(pointer, ahead));
          if (ahead > 0) f.drop(v128.load(i32.select(i32.ltU(next, last), next, last)));
          f.advance(pointer, groupRows * format.bytes);
        }
        f.advance(address, tileBytes(layout, format.elements, 1));
        f.advance(left, -1);
      });
      for (const [i, sum] of sums.entries()) f.store(y, sum, 16 * i);
      f.advance(count, -1);
    });
  });
}

/** Adds the products of a block of the group at each pointer to two sums each. */
function multiply(f, { target, format, layout }, pointers, address, sums) {
  const groups = pointers.map((pointer) => blockWeights(blockAt(f, target, format, pointer), format, layout.lanes));
  const slots = sums.map((sum) => localSlot(f, sum));
  const [{ m, scales, minima }] = groups;
  const of = (quad) => groups[quad >> 1];
  const weights = {
    codes: (unit, quad) => of(quad).codes(unit, quad),
    d: (quad, run) => of(quad).d(quad, run),
    m: m && ((quad) => of(quad).m(quad)),
    scales: scales && { factor: (quad, run) => of(quad).scales.factor(quad, run), pairs: (quad) => of(quad).scales.pairs(quad) },
    minima: minima && { minusDmin: (quad) => of(quad).minima.minusDmin(quad), pairs: (quad) => of(quad).minima.pairs(quad) },
  };
  const quads = allQuads.slice(0, sums.length);
  multiplyBlock(f, target, { format, weights, tokens: { layout, address, count: 1 }, quads, sums: (_, quad) => slots[quad] });
}

/** The vector instructions of a block of eight rows, without loads, stores and moves. */
export function vectorInstructions({ target, format, layout }) {
  const counter = new Counter();
  const [pointer, address] = counter.locals("i32", 2);
  multiply(counter, { target, format, layout }, [pointer], address, counter.locals("v128", 2));
  return counter.count;
}

/** Has the methods of a function builder that emit a block's products, and counts what it would write. */
class Counter {
  count = 0;

  local = (type) => ({ type, code: [0x20, 0] });
  locals = (type, count) => Array.from({ length: count }, () => this.local(type));
  splat = () => this.local("v128");
  splatBits = () => this.local("v128");
  pooled = () => this.local("v128");

  let(value) {
    this.set(undefined, value);
    return this.local(value.type);
  }

  set(_, value) {
    for (const operand of value.operands ?? []) this.set(undefined, operand);
    // Instructions 0 to 12 of 0xfd are loads, stores and constants, and 84 to 93 access lanes in memory. Loads of 16 bits are also widened.
    const [prefix, low, high = 0] = value.code;
    const instruction = (low & 127) + (low > 127 ? 128 * high : 0);
    const isMemory = instruction <= 12 && !(instruction >= 1 && instruction <= 6);
    if (prefix === 0xfd && !isMemory && !(instruction >= 84 && instruction <= 93)) this.count++;
  }
}

/** Emits `<name>(at, turns)`: 16 independent additions of vectors per turn. */
export function emitAdditions(module, name) {
  module.function(name, { at: "i32", turns: "i32" }, (f, { at, turns }) => {
    const sums = f.locals("v128", 8);
    const one = f.let(v128.load(at));
    f.while(turns, () => {
      for (const sum of [...sums, ...sums]) f.set(sum, i32x4.add(sum, one));
      f.advance(turns, -1);
    });
    f.store(
      at,
      sums.reduce((a, b) => i32x4.add(a, b)),
    );
  });
}
