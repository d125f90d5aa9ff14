// Prints the 8-bit operations per second of register tiles whose operands come from the first-level cache, on one thread of this machine:
// the bound of prompts with block weights. Beside it are the tokens per second that this allows with Qwen2.5-0.5B's shape. Run it after a
// build: node_modules/.bin/node packages/backend-wasm/scripts/tileBound.mjs
//
// Each line is a way to add products. Their vector instructions for 16 products of a row and a token, without loads:
//
// - "quads": one, which multiplies signed with unsigned bytes and adds four products, for codes of 4 to 6 bits, or with a bias for signed bytes.
// - "pairs": two, which add two products and then in 16 bits. Up to 8 such sums of codes of 4 bits fit; then two more widen them.
// - "pairs, scaled": the same for q4_K: sums are widened by a multiplication with the run's scale, and minima are subtracted.
// - "wide": four, two of which multiply 16 bits, for signed bytes (q8_0). Positive and negative parts of the activations ("split") take five:
//   two products, a subtraction, a widening and an addition. Weights with a bias of 128 do not work: a sum of two products saturates.
// - "planes": four for signed bytes, as two products of 4 bits each, of which the one of the high bits is multiplied by 16 when it is widened.
import "./relaxedOnly.mjs";
import { targetOf } from "../build/esm/detect.js";
import { f32x4, i16x8, i32x4, ModuleBuilder, relaxed, v128 } from "../build/esm/emit/index.js";
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

const quadsAdd = (sum, x, code) => relaxed.dotI8x16I7x16Add(x, code, sum);
const pairsAdd = (sum, x, code) => i16x8.add(sum, relaxed.dotI8x16I7x16(x, code));
const wideAdd = (sum, x, code) => i32x4.add(sum, i32x4.dotI16x8(x, code));

/**
 * Ways to add products: how those of a vector are added to a sum, weights of four rows per vector, passes over the activations with codes of
 * their own, the factor with which the sums of a pass are widened, and the steps of a block, after which sums are converted to f32.
 */
const ways = {
  quads: { add: quadsAdd, elements: 4 },
  pairs: { add: pairsAdd, elements: 4, widen: [0x00010001] },
  "pairs, scaled": { add: pairsAdd, elements: 4, widen: ["scale"], minima: 4, blockSteps: 8 },
  wide: { add: wideAdd, elements: 2 },
  planes: { add: pairsAdd, elements: 4, widen: [0x00100010, 0x00010001] },
};
const { dots } = targetOf(true);
const shown = dots === "pairs" ? ["pairs", "pairs, scaled", "wide", "planes"] : ["quads"];

/** Emits `run(weights, activations, sums, blocks)`: a block of weights times blocks of activations, each with a scale. */
function emitTile(quads, tokens, { add, elements, widen = [undefined], minima = 0, blockSteps = 1 }) {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  const units = stepElements / elements;
  const signature = { weights: "i32", activations: "i32", sums: "i32", left: "i32" };
  module.function("run", signature, (f, { weights, activations, sums, left }) => {
    const [products, totals] = [f.locals("v128", quads * tokens), f.locals("v128", quads * tokens)];
    const [code, x, step] = [f.local("i32"), f.local("i32"), f.local("i32")];
    const activation = (from, token, word) => f.let(v128.load32Splat(from, 4 * (tokens * word + token)));
    const cells = [...products.keys()].map((i) => ({ i, token: Math.floor(i / quads), quad: i % quads }));
    /** Adds the products of a step to sums of their own, and those to the totals. */
    const addStep = (sum, factor, pass) => {
      for (const each of sum) f.set(each, v128.zero());
      for (let unit = 0; unit < units; unit++) {
        const xs = Array.from({ length: tokens }, (_, token) => activation(x, token, unit));
        for (let quad = 0; quad < quads; quad++) {
          const codes = f.let(v128.load(code, 16 * (quads * (units * pass + unit) + quad)));
          for (const { i, token } of cells.filter((one) => one.quad === quad)) f.set(sum[i], add(sum[i], xs[token], codes));
        }
      }
      if (factor === undefined) return;
      for (const { i, quad } of cells) {
        const own = factor === "scale" ? v128.load(code, 16 * (quads * units + quad)) : f.splatBits(factor);
        f.set(totals[i], i32x4.add(totals[i], i32x4.dotI16x8(sum[i], own)));
      }
    };
    f.while(left, () => {
      f.set(code, weights);
      f.set(x, activations);
      for (const total of totals) f.set(total, v128.zero());
      const isWidened = widen[0] !== undefined;
      const addSteps = () => {
        for (const [pass, factor] of widen.entries()) addStep(isWidened ? products : totals, factor, pass);
        f.advance(code, 16 * quads * (units * widen.length + 1));
        f.advance(x, 4 * tokens * units);
      };
      if (blockSteps === 1) addSteps();
      else f.for(step, 0, blockSteps, 1, addSteps);
      const addScaled = (offset, totalOf) => {
        for (const { i, token, quad } of cells) {
          const scale = f32x4.mul(v128.load(code, 16 * (offset + quad)), activation(x, token, 0));
          f.store(sums, f32x4.add(f32x4.mul(f32x4.fromI32x4(totalOf(token, quad, i)), scale), v128.load(sums, 16 * i)), 16 * i);
        }
      };
      addScaled(0, (_, __, i) => totals[i]);
      const minimaOf = (token, quad) =>
        Array.from({ length: minima }, (_, m) =>
          i32x4.dotI16x8(v128.load(code, 16 * (quads * (2 + m) + quad)), activation(x, token, 1 + m)),
        );
      if (minima > 0) addScaled(quads, (token, quad) => minimaOf(token, quad).reduce((a, b) => i32x4.add(a, b)));
      f.advance(activations, 4 * tokens * (units * blockSteps + 8));
      f.advance(sums, 16 * quads * tokens);
      f.advance(left, -1);
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
      for (let run = 0; run < runs; run++) exports.run(heap, heap + 2 ** 16, heap + 2 ** 17, steps / blockSteps);
      best = Math.max(best, operations / (performance.now() - start) / 1e6);
    }
    const perSecond = ((1e9 * best) / tokenOperations).toFixed(0);
    console.log(`${name}: ${4 * quads} rows, ${tokens} tokens: ${best.toFixed(0)} Gop/s, ${perSecond} tokens per second`);
  }
}
