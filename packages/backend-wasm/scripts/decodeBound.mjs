// Prints what bounds one token times weights, in GB of weights per second. Run it after a build:
// node_modules/.bin/node packages/backend-wasm/scripts/decodeBound.mjs [TYPE,…] [THREADS,…] [VARIANT,…]
//
// - "instructions": the vector instructions of a block, without loads, at the rate at which this machine adds vectors.
// - "products": the kernel without scales and minima, with all operands in the first-level cache.
// - "in cache": the kernel, with all operands in the first-level cache.
// - "read": loads of weights in memory in order, without products.
// - "from memory": the kernel, with weights in memory. The lower one of "in cache" and "read" is its bound. If nothing of the two
//   overlapped, it would reach what is printed last.
//
// A figure is reached by a tenth of many short runs, because the machine may have other work.
//
// A variant is `streams=2` (groups that are multiplied at the same time, far apart), `ahead=3456` (bytes that are read ahead of each block),
// `groups=64` (groups of eight rows per call), `apart=1` (each thread has a part of the matrix of its own, and does not take the next free
// call), or several of them with `+` between. f16 and bf16 have no variants.
import "./relaxedOnly.mjs";
import { availableParallelism } from "node:os";
import { singleSignature } from "../build/esm/blockProducts/groupEmission.js";
import { emitGroups } from "../build/esm/blockProducts/groups.js";
import { targetOf } from "../build/esm/detect.js";
import { i32, i32x4, ModuleBuilder, v128 } from "../build/esm/emit/index.js";
import { groupRows } from "../build/esm/formats/block.js";
import { emitInner } from "../build/esm/matmul/inner.js";
import { emitInnerHalves } from "../build/esm/matmul/innerHalves.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";
import { emitCalls, firstFree, highRate, openThreads, rateText } from "./boundThreads.mjs";
import { decodeFormat, emitAdditions, emitKernel, productsOnly, vectorInstructions } from "./decodeKernel.mjs";

/** Columns of the matrix, its bytes, and groups of eight rows per call: plans have calls of 18 to 43 on two threads. */
const [columns, matrixBytes, groupsPerCall] = [2048, 720 * 2 ** 20, 32];
/** Bytes of a part of the matrix that are read by a run, some of which are not interrupted on a machine with other work. */
const partBytes = 8 * 2 ** 20;
/** Groups per call whose weights stay in the first-level cache. */
const cachedGroups = 2;
const runs = 400;
/** Addresses: a token's rounded activations, the same in f32 and split for 16-bit weights, results of each thread, weights. */
const [activations, floats, split, results, weights] = [firstFree, 2 ** 19, 2 ** 19 + 4 * columns, 2 ** 20, 2 ** 23];
const target = targetOf(true);

/** Emits loads of the weights of `rows` rows in order. */
function emitRead(module, name, bytes) {
  module.function(name, singleSignature, (f, { w, y, rows, blocks }) => {
    const sums = f.locals("v128", 8);
    const left = f.let(i32.shrU(i32.mul(i32.mul(rows, blocks), bytes), 7));
    f.while(left, () => {
      for (const [i, sum] of sums.entries()) f.set(sum, i32x4.add(sum, v128.load(w, 16 * i)));
      f.advance(w, 128);
      f.advance(left, -1);
    });
    f.store(
      y,
      sums.reduce((a, b) => i32x4.add(a, b)),
    );
  });
}

/** `ahead=0+groups=64` as an object. Without streams and bytes to read ahead, a variant has the kernel of the package. */
function parseVariant(text) {
  const values = text.split("+").map((part) => part.split("="));
  const { groups = groupsPerCall, apart = 0, ...kernel } = Object.fromEntries(values.map(([name, value]) => [name, Number(value)]));
  return { text, groups, isApart: apart > 0, kernel: Object.keys(kernel).length > 0 && kernel };
}

/** Emits the calls of a kernel, and returns a task of them. */
function taskOf(module, title, kernel, { blocks, bytes, groups = groupsPerCall, isCached = false, isApart = false }) {
  const callBytes = groupRows * groups * blocks * bytes;
  const found = module.find(kernel, singleSignature);
  emitCalls(module, `${title} ${kernel}`, {}, (f, { part, thread }, index) => {
    const w = isCached
      ? i32.add(weights, i32.shl(thread, 20))
      : i32.add(i32.add(weights, i32.mul(part, partBytes)), i32.mul(index, callBytes));
    const y = i32.add(results, i32.shl(thread, 18));
    f.call(found, { w, a: i32.const(activations), y, rows: i32.const(groupRows * groups), blocks: i32.const(blocks) });
  });
  const calls = Math.floor(partBytes / callBytes);
  return { title, name: `${title} ${kernel}`, args: [], parts: matrixBytes / partBytes, isApart, calls, callBytes };
}

/** Emits the kernels of a block type, and returns what threads run and what bounds them. */
function blockTasks(module, name, variants) {
  const own = decodeFormat(name, target);
  const { elements, bytes } = own.format;
  const sizes = { blocks: columns / elements, bytes };
  const products = productsOnly(own);
  emitKernel(module, `products.${name}`, products, {});
  const inMemory = variants.map(({ text, kernel, ...options }) => {
    if (kernel) emitKernel(module, `${text}.${name}`, own, kernel);
    return taskOf(module, text, kernel ? `${text}.${name}` : `groups1.${name}`, { ...sizes, ...options });
  });
  const cached = { ...sizes, groups: cachedGroups, isCached: true };
  const tasks = [
    taskOf(module, "products", `products.${name}`, cached),
    ...commonTasks(module, name, `groups1.${name}`, sizes),
    ...inMemory,
  ];
  const instructions = vectorInstructions(own);
  const share = Math.round((100 * vectorInstructions(products)) / instructions);
  const text = `${instructions} vector instructions for eight rows of a block, ${share} % of them products`;
  return { name, tasks, text, weightsPerInstruction: (groupRows * bytes) / instructions };
}

/** Tasks of 16-bit weights. `floatBound.mjs` prints the bound by instructions. */
function halfTasks(module, name) {
  const [kernel, rowBytes] = [module.find(`inner.vector.${name}`), 2 * columns];
  module.function(`single.${name}`, singleSignature, (f, { w, y, rows }) => {
    const [x, splitX, k, tokens] = [floats, split, columns, 1].map((value) => i32.const(value));
    f.call(kernel, { w, x, y, rows, rowBytes: i32.const(rowBytes), k, split: splitX, tokens, yBytes: i32.const(0) });
  });
  return { name, tasks: commonTasks(module, name, `single.${name}`, { blocks: 1, bytes: rowBytes }) };
}

function commonTasks(module, name, kernel, sizes) {
  emitRead(module, `read.${name}`, sizes.bytes);
  return [
    taskOf(module, "in cache", kernel, { ...sizes, groups: sizes.blocks === 1 ? 1 : cachedGroups, isCached: true }),
    taskOf(module, "read", `read.${name}`, sizes),
    taskOf(module, "from memory", kernel, sizes),
  ];
}

function prepareMemory() {
  const memory = new WebAssembly.Memory({ initial: (weights + matrixBytes) / 2 ** 16, maximum: 2 ** 16, shared: true });
  // Any 16 bits are a scale with an exponent: products of others take longer on some processors.
  const words = new Uint32Array(memory.buffer, activations);
  for (let i = 0, x = 1; i < words.length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    words[i] = (x & 0x1fff1fff) | 0x20002000;
  }
  new Float32Array(memory.buffer, floats, columns).fill(1);
  new Float32Array(memory.buffer, split, columns).fill(2 ** 112);
  return memory;
}

/** The additions of vectors per second on one thread, in 1e9. */
function additionRate() {
  const module = new ModuleBuilder({ constants: memoryMap.constants });
  emitAdditions(module, "add");
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 2 ** 16 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env: { memory } });
  const [turns, times] = [50_000, 200];
  let best = 0;
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    exports.add(memoryMap.heap, turns);
    best = Math.max(best, (16 * turns) / (performance.now() - start) / 1e6);
  }
  return best;
}

const [types = "q4_K,q6_K", counts = `1,2,${availableParallelism()}`, variantNames] = process.argv.slice(2);
const variants = variantNames?.split(",").map(parseVariant) ?? [];
const threadCounts = [...new Set(counts.split(",").map(Number))];
const builder = new ModuleBuilder({ shared: true, constants: memoryMap.constants, hasTable: true });
emitGroups(builder, target);
emitInnerHalves(builder, target, emitInner(builder, target));
const all = types.split(",").map((name) => (/^b?f16$/.test(name) ? halfTasks(builder, name) : blockTasks(builder, name, variants)));
const { time, close } = openThreads(new WebAssembly.Module(builder.build()), prepareMemory(), Math.max(...threadCounts));
const rate = additionRate();
for (const { name, tasks, text, weightsPerInstruction } of all) {
  if (text !== undefined) {
    console.log(`${name}: ${text}`);
    console.log(`  instructions: ${(weightsPerInstruction * rate).toFixed(1)} GB/s per thread, at ${rate.toFixed(1)}e9 per second`);
  } else console.log(name);
  for (const threads of threadCounts) {
    // In the first runs, kernels are compiled.
    await time(tasks, threads, 3);
    const rates = await time(tasks, threads, runs);
    const [inCache, read] = ["in cache", "read"].map((title) => highRate(rates[tasks.findIndex((task) => task.title === title)]));
    const figures = tasks.map(({ title }, i) => `${title} ${rateText(rates[i])}`);
    console.log(`  threads: ${threads}: ${figures.join(", ")}; without overlap ${(1 / (1 / inCache + 1 / read)).toFixed(1)} GB/s`);
  }
}
await close();
