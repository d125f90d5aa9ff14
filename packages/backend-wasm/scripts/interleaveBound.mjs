// Prints how fast weights are interleaved while they are loaded, in GB of weights per second, and the bound of any write to new memory. Run it
// after a build: node_modules/.bin/node packages/backend-wasm/scripts/interleaveBound.mjs [FORMAT,…] [THREADS,…]
//
// - "fill": fills memory that was never used, which the system first has to clear, a page of 4 KiB at a time.
// - A format: its kernel, from chunks of 4 MiB that were just written, as when they are read from a file, to memory that was used before.
//
// A figure is reached by a tenth of many short runs, because the machine may have other work.
import { availableParallelism } from "node:os";
import { i32, ModuleBuilder } from "../build/esm/emit/index.js";
import { groupRows } from "../build/esm/formats/block.js";
import { formatNames, formatOf } from "../build/esm/formats/index.js";
import { emitInterleave } from "../build/esm/formats/interleave.js";
import { memoryMap } from "../build/esm/memory/memoryMap.js";
import { emitCalls, openThreads, rateText } from "./boundThreads.mjs";

/** Columns of the matrix, bytes of a chunk, and of a call. */
const [columns, chunkBytes, callBytes] = [2048, 2 ** 22, 2 ** 17];
const runs = 60;
/** Addresses: a chunk of weights, a matrix of interleaved weights, and memory that each run fills for the first time. */
const matrixParts = 32;
const chunk = 2 ** 20;
const matrix = chunk + chunkBytes;
const unused = matrix + matrixParts * chunkBytes;

const [names = formatNames.join(), counts = `1,2,${availableParallelism()}`] = process.argv.slice(2);
const threadCounts = [...new Set(counts.split(",").map(Number))];
const formats = names.split(",");
const builder = new ModuleBuilder({ shared: true, constants: memoryMap.constants, hasTable: true });
emitInterleave(builder);
emitCalls(builder, "fill", { from: "i32" }, (f, { part, from }, index) => {
  const to = i32.add(from, i32.add(i32.mul(part, chunkBytes), i32.mul(index, callBytes)));
  f.memoryFill(to, i32.const(0), i32.const(callBytes));
});
const formatTasks = formats.map((name) => {
  const { elements, bytes } = formatOf(name);
  const rowBytes = (columns / elements) * bytes;
  const groups = Math.floor(callBytes / rowBytes / groupRows);
  const own = { calls: Math.floor(chunkBytes / callBytes), callBytes: groups * groupRows * rowBytes };
  const kernel = builder.find(`interleave.${name}`);
  emitCalls(builder, name, {}, (f, { part }, index) => {
    const begin = f.let(i32.mul(index, groups));
    const to = i32.add(matrix, i32.mul(part, chunkBytes));
    f.call(kernel, { rows: i32.const(chunk), to, rowBytes: i32.const(rowBytes), begin, end: i32.add(begin, groups) });
  });
  return { name, args: [], parts: matrixParts, isApart: false, ...own };
});
const fills = threadCounts.length * runs;
const memory = new WebAssembly.Memory({ initial: Math.ceil((unused + fills * chunkBytes) / 2 ** 16), maximum: 2 ** 16, shared: true });
new Uint8Array(memory.buffer, chunk, unused - chunk).fill(85);
const { time, close } = openThreads(new WebAssembly.Module(builder.build()), memory, Math.max(...threadCounts));
for (const [i, threads] of threadCounts.entries()) {
  // In the first runs, kernels are compiled.
  await time(formatTasks, threads, 3);
  const fill = {
    name: "fill",
    args: [unused + i * runs * chunkBytes],
    parts: runs,
    isApart: false,
    calls: chunkBytes / callBytes,
    callBytes,
  };
  const rates = [...(await time([fill], threads, runs)), ...(await time(formatTasks, threads, runs))];
  const texts = [fill, ...formatTasks].map(({ name }, t) => `${name} ${rateText(rates[t])}`);
  console.log(`threads: ${threads}: ${texts.join(", ")} GB/s`);
}
await close();
