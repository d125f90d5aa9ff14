// Prints the 8-bit operations per second of register tiles whose operands come from the first-level cache, on one thread of this machine:
// the bound of prompts with block weights. Run it after a build: node packages/backend-wasm/scripts/tileBound.mjs
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
/** Blocks of 32 weights of one tile, as many as share a block of weights in the kernels. */
const blocks = 32;
/** Seconds in which the highest rate is reached a few times, also on a machine with other work. */
const seconds = 2;

/** How each kind of products adds those of a vector to a sum, and the products of a vector. */
const kinds = {
  mixedQuads: { add: (sum, x, code) => relaxed.dotI8x16I7x16Add(x, code, sum), products: 16 },
  quads: { add: (sum, x, code) => relaxed.dotI8x16I7x16Add(x, code, sum), products: 16 },
  pairs: { add: (sum, x, code) => i16x8.add(sum, relaxed.dotI8x16I7x16(x, code)), products: 16 },
  wide: { add: (sum, x, code) => i32x4.add(sum, i32x4.dotI16x8(x, code)), products: 8 },
};

/** Emits `run(weights, activations, sums, blocks)`: a block of weights times blocks of activations, each with a scale. */
function emitTile(quads, tokens, { add, products }) {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  const units = (4 * 32) / products;
  const signature = { weights: "i32", activations: "i32", sums: "i32", left: "i32" };
  module.function("run", signature, (f, { weights, activations, sums, left }) => {
    const totals = f.locals("v128", quads * tokens);
    const activation = (token, word) => f.let(v128.load32Splat(activations, 4 * (tokens * word + token)));
    const each = [...totals.keys()].map((i) => ({ total: totals[i], token: Math.floor(i / quads), quad: i % quads, at: 16 * i }));
    f.while(left, () => {
      for (const total of totals) f.set(total, v128.zero());
      for (let unit = 0; unit < units; unit++) {
        const xs = Array.from({ length: tokens }, (_, token) => activation(token, unit));
        for (let quad = 0; quad < quads; quad++) {
          const code = f.let(v128.load(weights, 16 * (quads * unit + quad)));
          for (const { total, token } of each.filter((one) => one.quad === quad)) f.set(total, add(total, xs[token], code));
        }
      }
      const scales = Array.from({ length: tokens }, (_, token) => activation(token, units));
      for (const { total, token, quad, at } of each) {
        const scale = f32x4.mul(v128.load(weights, 16 * (quads * units + quad)), scales[token]);
        f.store(sums, f32x4.add(f32x4.mul(f32x4.fromI32x4(total), scale), v128.load(sums, at)), at);
      }
      f.advance(activations, 4 * tokens * (units + 1));
      f.advance(sums, 16 * quads * tokens);
      f.advance(left, -1);
    });
  });
  return module.build();
}

const { dots } = targetOf(true);
for (const [quads, tokens] of tiles) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(emitTile(quads, tokens, kinds[dots])), { env: { memory } });
  const heap = memoryMap.heap;
  const runs = 1000;
  let best = 0;
  for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
    const start = performance.now();
    for (let run = 0; run < runs; run++) exports.run(heap, heap + 2 ** 16, heap + 2 ** 17, blocks);
    best = Math.max(best, (2 * 4 * quads * tokens * 32 * blocks * runs) / (performance.now() - start) / 1e6);
  }
  console.log(`${dots}: ${4 * quads} rows, ${tokens} tokens: ${best.toFixed(0)} Gop/s`);
}
