// Prints what bounds attention of one token, on one thread of this machine, in cycles per position and head of the cache: the bare
// instructions that it needs with all operands in the first-level cache, and the kernel with a cache of f16, q8_0 and f32 that stays in the
// second-level cache or comes from memory. GROUP is the number of query heads per head of the cache. Run it after a build:
// node packages/backend-wasm/scripts/attentionBound.mjs [TYPE,…] [GROUP,…]
import { targetOf } from "../build/esm/detect.js";
import { f32x4, i32, ModuleBuilder, v128 } from "../build/esm/emit/index.js";
import { emitHalfTable } from "../build/esm/formats/half.js";
import { attentionArguments, emitAttention } from "../build/esm/kernels/attention/functions.js";
import { scratchLayout } from "../build/esm/kernels/attention/layout.js";
import { partBytes } from "../build/esm/kernels/attention/parts.js";
import { keyBlock } from "../build/esm/kernels/attention/tiles.js";
import { largerHalves, splitHalves } from "../build/esm/kernels/shared/cacheRow.js";
import { expCut } from "../build/esm/math/exp.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";
import { madd } from "../build/esm/target.js";

const target = targetOf(true);
/** Elements of a key and of a value, heads of the cache, and positions of a block of the table. */
const [size, kvHeads, blockSize] = [64, 2, 16];
/** Positions of a cache, which stays in the second-level cache, and caches that come from memory, because they take turns. */
const [positions, caches] = [1024, 128];
/** Seconds in which the lowest time is reached a few times, also on a machine with other work. */
const seconds = 3;

/** Emits `chain(x, left)`: 64 additions per turn that wait for each other, one per cycle. */
function emitChain(module) {
  module.value("chain", { x: "i32", left: "i32" }, "i32", (f, { x, left }) => {
    const sum = f.let(x);
    f.while(left, () => {
      for (let i = 0; i < 64; i++) f.set(sum, i32.add(sum, x));
      f.advance(left, -1);
    });
    return sum;
  });
}

/** Four times eight elements of a key or a value, as two vectors each, times those of each query. */
function products(f, at, sums, group, vectorsOf) {
  let next = 0;
  for (let step = 0; step < 4; step++) {
    const vectors = vectorsOf(512 + 32 * step);
    for (let i = 0; i < group; i++) {
      const x = f.let(v128.load(at, 16 * i));
      for (const vector of vectors) {
        const sum = sums[next++ % sums.length];
        f.set(sum, madd(target, vector, x, sum));
      }
    }
  }
}

/** The bare instructions, and how often a position takes them. */
const mixes = {
  products: {
    times: () => size / 16,
    emit: (f, at, sums, group) => products(f, at, sums, group, (offset) => [0, 16].map((i) => f.let(v128.load(at, offset + i)))),
  },
  "products with conversion of f16": {
    times: () => size / 16,
    emit: (f, at, [largest, ...sums], group) => {
      products(f, at, sums, group, (offset) => {
        const halves = f.let(v128.load(at, offset));
        f.set(largest, largerHalves(largest, halves));
        return [0, 1].map((parity) => splitHalves(f, halves, parity));
      });
    },
  },
  exponentials: {
    times: (group) => group / 16,
    emit: (f, at, sums) => {
      const exponent = f.let(v128.load(at));
      f.interleave(
        sums.slice(0, 4).map((sum, i) => () => {
          const e = expCut(f, target, f.let(v128.load(at, 16 * i)), exponent);
          f.store(at, e, 16 * i + 256);
          f.set(sum, f32x4.add(sum, e));
        }),
      );
    },
  },
};

function cyclesOf({ times, emit }, group) {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  emitChain(module);
  module.function("run", { at: "i32", left: "i32" }, (f, { at, left }) => {
    const sums = f.locals("v128", 9);
    f.while(left, () => {
      emit(f, at, sums, group);
      f.advance(left, -1);
    });
    for (const [i, sum] of sums.entries()) f.store(at, sum, 1024 + 16 * i);
  });
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  return (lowest(exports, () => exports.run(memoryMap.heap, 2000)) / 2000) * times(group);
}

/** The attention of one token over any of `caches` caches. */
function attentionOf(type, group) {
  const heads = group * kvHeads;
  const slotBytes = 2 * size * kvHeads * { f32: 4, f16: 2, q8_0: 34 / 32 }[type];
  const { bytes: threadScratchBytes, ...layout } = scratchLayout(size, size, group);
  const blocks = positions / keyBlock;
  let end = memoryMap.heap;
  const place = (bytes) => {
    const at = end;
    end += 64 * Math.ceil(bytes / 64);
    return at;
  };
  const addresses = {
    q: place(4 * heads * size),
    y: place(4 * heads * size),
    positions: place(4),
    seqOf: place(4),
    blockTable: place((4 * positions) / blockSize),
    seqLens: place(4),
    threadScratch: place(threadScratchBytes),
    parts: place(blocks * heads * partBytes(size)),
    cache: place(caches * positions * slotBytes),
  };
  const shape = { tokens: 1, queries: 1, heads, kvHeads, dK: size, dV: size, slots: positions, sequences: 1, blockSize };
  const options = { slopes: 0, bias: 0, reach: 0, sinks: 0, causal: 1, window: 0, scale: 0.125, softcap: 0 };
  const args = { ...shape, ...options, ...layout, ...addresses, threadScratchBytes, maxBlocks: positions / blockSize };

  const module = new ModuleBuilder({ constants: memoryMap.constants, hasTable: true });
  emitAttention(module, target);
  emitHalfTable(module);
  emitChain(module);
  const code = new WebAssembly.Module(module.build());
  const memory = new WebAssembly.Memory({ initial: Math.ceil(end / 2 ** 16), maximum: 65_536 });
  const constant = (value) => new WebAssembly.Global({ value: "i32", mutable: false }, value);
  const table = new WebAssembly.Table({ element: "anyfunc", initial: WebAssembly.Module.exports(code).length });
  const { exports } = new WebAssembly.Instance(code, { env: { memory, table, base: constant(0), thread: constant(0) } });
  exports.halfTable(memoryMap.halfTable);
  const words = new Int32Array(memory.buffer);
  words[args.positions / 4] = positions - 1;
  words[args.seqLens / 4] = positions;
  for (let i = 0; i < positions / blockSize; i++) words[args.blockTable / 4 + i] = i;
  const floats = new Float32Array(memory.buffer);
  for (let i = 0; i < heads * size; i++) floats[args.q / 4 + i] = Math.sin(i);
  // Any 16 bits are a half or a scale of q8_0, and any 32 a float, of normal size.
  const halves = new Uint16Array(memory.buffer, args.cache, (caches * positions * slotBytes) / 2);
  for (let i = 0, x = 1; i < halves.length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    halves[i] = ((x >>> 16) & 0x87ff) | 0x3800;
  }
  const lists = Array.from({ length: caches }, (_, i) => attentionArguments({ ...args, cache: args.cache + i * positions * slotBytes }));
  const run = (turn) => {
    exports[`attention.split.${type}`](...lists[turn % caches], 0, blocks * kvHeads);
    exports["attention.join"](args.y, args.parts, heads, size, blocks, 0, 0, heads);
  };
  return { exports, run };
}

/** The lowest number of cycles of a call, by turns with additions that take one each. */
function lowest(exports, call) {
  for (const end = performance.now() + 300; performance.now() < end; ) call(0);
  let [time, cycle] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const end = performance.now() + 1000 * seconds;
  for (let turn = 0; performance.now() < end; turn++) {
    const start = performance.now();
    exports.chain(3, 1000);
    const between = performance.now();
    call(turn);
    time = Math.min(time, performance.now() - between);
    cycle = Math.min(cycle, (between - start) / 64_000);
  }
  return time / cycle;
}

const [types = "f16,q8_0,f32", groups = "7,4,1"] = process.argv.slice(2);
for (const group of groups.split(",").map(Number)) {
  const bare = Object.entries(mixes).map(([name, mix]) => `${name} ${cyclesOf(mix, group).toFixed(0)}`);
  console.log(`group of ${group}, bare instructions: ${bare.join(", ")} cycles`);
  for (const type of types.split(",")) {
    const { exports, run } = attentionOf(type, group);
    const [inCache, fromMemory] = [() => run(0), run].map((call) => (lowest(exports, call) / positions / kvHeads).toFixed(0));
    console.log(`group of ${group}, ${type}: in cache ${inCache}, from memory ${fromMemory} cycles`);
  }
}
