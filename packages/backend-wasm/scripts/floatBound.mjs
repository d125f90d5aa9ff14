// Prints the GFLOP/s of what bounds products with f16 and bf16 weights, on one thread of this machine: register tiles of f32, and one or two
// rows times weights that are widened, with all operands in the first-level cache. Run it after a build:
// node_modules/.bin/node packages/backend-wasm/scripts/floatBound.mjs
import "./relaxedOnly.mjs";
import { targetOf } from "../build/esm/detect.js";
import { i16x8, ModuleBuilder, v128 } from "../build/esm/emit/index.js";
import { splitHalves } from "../build/esm/matmul/innerHalves.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";
import { madd } from "../build/esm/target.js";

const target = targetOf(true);
/** Times that the loop runs within a call, over 16 KiB at most. */
const turns = 128;
/** Seconds in which the highest rate is reached a few times, also on a machine with other work. */
const seconds = 2;

/** A register tile of f32: two rows times six, as in the kernel of many rows. */
function tile(f, { weights, x }, sums) {
  const xs = [0, 1].map((row) => f.let(v128.load(x, 16 * row)));
  for (let column = 0; column < 6; column++) {
    const w = f.let(v128.load(weights, 16 * column));
    for (const [row, value] of xs.entries()) f.set(sums[2 * column + row], madd(target, w, value, sums[2 * column + row]));
  }
}

/**
 * Eight weights each of four rows, widened as in the kernels of one and two rows. For two rows there are no registers to keep weights and all
 * of `x`. The largest magnitude among f16 weights, the last of `sums`, tells whether all are finite.
 */
function halves(dtype, tokens) {
  return (f, { weights, x }, sums) => {
    for (const parities of tokens === 1 ? [[0, 1]] : [[0], [1]]) {
      const xs = parities.map((parity) => Array.from({ length: tokens }, (_, token) => f.let(v128.load(x, 16 * (2 * token + parity)))));
      for (let row = 0; row < 4; row++) {
        const loaded = f.let(v128.load(weights, 16 * row));
        const largest = sums[4 * tokens];
        if (parities.includes(1) && largest) f.set(largest, i16x8.maxS(largest, v128.and(loaded, f.splatBits(0x7fff7fff))));
        for (const [i, parity] of parities.entries()) {
          const w = f.let(splitHalves(f, dtype, loaded, parity));
          for (let token = 0; token < tokens; token++) {
            const sum = sums[4 * token + row];
            f.set(sum, madd(target, w, xs[i][token], sum));
          }
        }
      }
    }
  };
}

const mixes = {
  "f32, 2 rows times 6": { emit: tile, sums: 12, madds: 12, weightBytes: 96, xBytes: 32 },
  "f16, 1 row": { emit: halves("f16", 1), sums: 5, madds: 8, weightBytes: 64, xBytes: 32 },
  "f16, 2 rows": { emit: halves("f16", 2), sums: 9, madds: 16, weightBytes: 64, xBytes: 64 },
  "bf16, 1 row": { emit: halves("bf16", 1), sums: 4, madds: 8, weightBytes: 64, xBytes: 32 },
  "bf16, 2 rows": { emit: halves("bf16", 2), sums: 8, madds: 16, weightBytes: 64, xBytes: 64 },
};

for (const [name, { emit, sums: count, madds, weightBytes, xBytes }] of Object.entries(mixes)) {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  module.function("run", { weights: "i32", x: "i32", y: "i32", left: "i32" }, (f, { weights, x, y, left }) => {
    const sums = f.locals("v128", count);
    f.while(left, () => {
      emit(f, { weights, x }, sums);
      f.advance(weights, weightBytes);
      f.advance(x, xBytes);
      f.advance(left, -1);
    });
    for (const [i, sum] of sums.entries()) f.store(y, sum, 16 * i);
  });
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const { heap } = memoryMap;
  const runs = 2000;
  let best = 0;
  for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
    const start = performance.now();
    for (let run = 0; run < runs; run++) exports.run(heap, heap + 2 ** 15, heap + 2 ** 16, turns);
    best = Math.max(best, (8 * madds * turns * runs) / (performance.now() - start) / 1e6);
  }
  console.log(`${name}: ${best.toFixed(1)} GFLOP/s`);
}
