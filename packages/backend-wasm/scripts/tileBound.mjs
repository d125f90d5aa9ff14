// Prints the 8-bit operations per second of register tiles whose operands come from the first-level cache, on one thread of this machine:
// the bound of prompts with block weights. Beside it are the tokens per second that this allows with Qwen2.5-0.5B's shape. Run it after a
// build: node_modules/.bin/node packages/backend-wasm/scripts/tileBound.mjs
//
// The last lines are the kernels, with weights and activations in the second-level cache.
//
// Each line before them is a way to add products. Their vector instructions for 16 products of a row and a token, without loads:
//
// - "quads": one, which multiplies signed with unsigned bytes and adds four products, for codes of 4 to 6 bits, or with a bias for signed bytes.
// - "quads, scaled": the same for q4_K: sums are multiplied by the scales of runs, and minima are subtracted.
// - "pairs": two, which add two products and then in 16 bits. Up to 8 such sums of codes of 4 bits fit; then two more widen them.
// - "pairs, scaled": the same for q4_K, whose scales widen the sums.
// - "wide": four, two of which multiply 16 bits, for signed bytes (q8_0). Positive and negative parts of the activations ("split") take five:
//   two products, a subtraction, a widening and an addition. Weights with a bias of 128 do not work: a sum of two products saturates.
// - "planes": four for signed bytes, as two products of 4 bits each, of which the one of the high bits is multiplied by 16 when it is widened.
import "./relaxedOnly.mjs";
import { emitGroups } from "../build/esm/blockProducts/groups.js";
import { targetOf } from "../build/esm/detect.js";
import { f32x4, i16x8, i32x4, ModuleBuilder, relaxed, v128 } from "../build/esm/emit/index.js";
import { formatOf } from "../build/esm/formats/index.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";

/** Register tiles: vectors of four rows, and tokens. */
const tiles = [
  [4, 2],
  [2, 4],
  [6, 2],
  [4, 3],
];
/** Weights of a step of the loop: as many products of 4 bits as are added in 16 bits. */
const stepElements = 32;
/** Steps of one tile, as many as share a block of weights in the kernels. */
const steps = 32;
/** Seconds in which the highest rate is reached a few times, also on a machine with other work. */
const seconds = 1;
/** Operations of a token of Qwen2.5-0.5B in products with weights. */
const tokenOperations = 0.72e9;

const quads = { multiplyAdd: (code, x, sum) => relaxed.dotI8x16I7x16Add(x, code, sum), elements: 4 };
const pairs = { multiply: (code, x) => relaxed.dotI8x16I7x16(x, code), add: i16x8.add, elements: 4 };

/**
 * Ways to add products: the products of two vectors, and how they are added to a sum (or both in one), weights of a row per vector, the factors
 * with which sums are widened, one for each pass over the activations with codes of its own, vectors of minima, and the steps of a block,
 * after which sums are converted to f32.
 */
const ways = {
  quads,
  "quads, scaled": { ...quads, widen: ["scale"], widenBy: i32x4.mul, minima: 4, blockSteps: 8 },
  pairs: { ...pairs, widen: [0x00010001] },
  "pairs, scaled": { ...pairs, widen: ["scale"], minima: 4, blockSteps: 8 },
  wide: { multiply: i32x4.dotI16x8, add: i32x4.add, elements: 2 },
  planes: { ...pairs, widen: [0x00100010, 0x00010001] },
};
const target = targetOf(true);
const { dots } = target;
const shown = dots === "pairs" ? ["pairs", "pairs, scaled", "wide", "planes"] : ["quads", "quads, scaled"];

/** Emits `run(weights, first, y, blocks, times)`: a block of weights times blocks of activations, each with a scale, again and again. */
function emitTile(
  quads,
  tokens,
  { multiply, add, multiplyAdd, elements, widen = [], widenBy = i32x4.dotI16x8, minima = 0, blockSteps = 1 },
) {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  const units = stepElements / elements;
  const signature = { weights: "i32", first: "i32", y: "i32", blocks: "i32", times: "i32" };
  module.function("run", signature, (f, { weights, first, y, blocks, times }) => {
    const [activations, sums, left] = f.locals("i32", 3);
    const [sumsOfStep, totals] = [f.locals("v128", quads * tokens), f.locals("v128", quads * tokens)];
    const products = f.locals("v128", tokens);
    const [code, x, step] = [f.local("i32"), f.local("i32"), f.local("i32")];
    const activation = (from, token, word) => f.let(v128.load32Splat(from, 4 * (tokens * word + token)));
    const cells = [...totals.keys()].map((i) => ({ i, token: i % tokens, quad: Math.floor(i / tokens) }));
    /** Sets the sums of a step. All products of a vector of weights come before they are added. */
    const sumStep = (pass) => {
      if (!multiply) for (const sum of sumsOfStep) f.set(sum, v128.zero());
      for (let unit = 0; unit < units; unit++) {
        const xs = Array.from({ length: tokens }, (_, token) => activation(x, token, unit));
        for (let quad = 0; quad < quads; quad++) {
          const codes = f.let(v128.load(code, 16 * (quads * (units * pass + unit) + quad)));
          const own = cells.filter((cell) => cell.quad === quad).map(({ i, token }) => [sumsOfStep[i], products[token], xs[token]]);
          if (multiply) for (const [, product, value] of own) f.set(product, multiply(codes, value));
          for (const [sum, product, value] of own) {
            if (multiplyAdd) f.set(sum, multiplyAdd(codes, value, sum));
            else f.set(sum, unit === 0 ? product : add(sum, product));
          }
        }
      }
    };
    /** Loads a vector of weights of each four rows when it is first used. */
    const loadWeights = (vector) => {
      const loaded = [];
      return (quad) => (loaded[quad] ??= f.let(v128.load(code, 16 * (quads * vector + quad))));
    };
    /** What sums are multiplied with when they are widened. */
    const factorsOf = (factor) => (factor === "scale" ? loadWeights(units) : () => f.splatBits(factor));
    /** The sum of a cell as 32 bits. */
    const widened = ({ i, quad }, factors) => (widen.length === 0 ? sumsOfStep[i] : widenBy(sumsOfStep[i], factors(quad)));
    const multiplyBlock = () => {
      f.set(code, weights);
      f.set(x, activations);
      const passes = Math.max(1, widen.length);
      const isOneSum = passes * blockSteps === 1;
      if (!isOneSum) for (const total of totals) f.set(total, v128.zero());
      const addSteps = () => {
        for (let pass = 0; pass < passes; pass++) {
          sumStep(pass);
          const factors = factorsOf(widen[pass]);
          if (!isOneSum) for (const cell of cells) f.set(totals[cell.i], i32x4.add(totals[cell.i], widened(cell, factors)));
        }
        f.advance(code, 16 * quads * (units * passes + 1));
        f.advance(x, 4 * tokens * units);
      };
      if (blockSteps === 1) addSteps();
      else f.for(step, 0, blockSteps, 1, addSteps);
      const xs = Array.from({ length: tokens }, (_, token) => activation(x, token, 0));
      const addScaled = (scales, totalOf) => {
        for (const cell of cells) {
          const place = 16 * cell.i;
          const scale = f32x4.mul(scales(cell.quad), xs[cell.token]);
          f.store(sums, relaxed.madd(f32x4.fromI32x4(totalOf(cell)), scale, v128.load(sums, place)), place);
        }
      };
      const factors = factorsOf(widen[0]);
      addScaled(loadWeights(0), (cell) => (isOneSum ? widened(cell, factors) : totals[cell.i]));
      if (minima > 0) {
        const pairsOfRows = Array.from({ length: minima }, (_, m) => loadWeights(2 + m));
        const product = ({ token, quad }, m) => i32x4.dotI16x8(pairsOfRows[m](quad), activation(x, token, 1 + m));
        addScaled(loadWeights(1), (cell) => pairsOfRows.map((_, m) => product(cell, m)).reduce((a, b) => i32x4.add(a, b)));
      }
      f.advance(activations, 4 * tokens * (units * blockSteps + 8));
      f.advance(sums, 16 * quads * tokens);
      f.advance(left, -1);
    };
    f.while(times, () => {
      f.set(activations, first);
      f.set(sums, y);
      f.set(left, blocks);
      f.while(left, multiplyBlock);
      f.advance(times, -1);
    });
  });
  return module.build();
}

for (const name of shown) {
  const { blockSteps = 1 } = ways[name];
  for (const [quads, tokens] of tiles) {
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(emitTile(quads, tokens, ways[name])), { env: { memory } });
    const { heap } = memoryMap;
    const runs = 500;
    const operations = 2 * 4 * quads * tokens * stepElements * steps * runs;
    let best = 0;
    for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
      const start = performance.now();
      exports.run(heap, heap + 2 ** 16 + 9408, heap + 2 ** 17 + 18_624, steps / blockSteps, runs);
      best = Math.max(best, operations / (performance.now() - start) / 1e6);
    }
    const perSecond = ((1e9 * best) / tokenOperations).toFixed(0);
    console.log(`${name}: ${4 * quads} rows, ${tokens} tokens: ${best.toFixed(0)} Gop/s, ${perSecond} tokens per second`);
  }
}

/** Rows and tokens of the products with kernels, and columns by type. */
const [rows, tokens] = [32, 64];
const columnsOf = { q4_0: 896, q4_K: 1024, q6_K: 1024, q8_0: 896 };
const kernels = new ModuleBuilder({ constants: memoryMap.constants, hasTable: true });
emitGroups(kernels, target);
const memory = new WebAssembly.Memory({ initial: 256, maximum: 65_536 });
const table = new WebAssembly.Table({ element: "anyfunc", initial: kernels.functions.length });
const zero = new WebAssembly.Global({ value: "i32", mutable: false }, 0);
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(kernels.build()), { env: { memory, table, base: zero, thread: zero } });
for (const [name, columns] of Object.entries(columnsOf)) {
  let best = 0;
  for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
    const start = performance.now();
    const [weights, activations, y, scratch] = [2 ** 20, 2 ** 21 + 9408, 2 ** 22 + 18_624, 2 ** 23 + 4416];
    exports[`pairs.${name}`](weights, activations, y, rows, columns / formatOf(name).elements, 4 * rows, scratch, tokens / 2);
    best = Math.max(best, (2 * rows * tokens * columns) / (performance.now() - start) / 1e6);
  }
  console.log(`kernel of ${name}: ${best.toFixed(0)} Gop/s, ${((1e9 * best) / tokenOperations).toFixed(0)} tokens per second`);
}
