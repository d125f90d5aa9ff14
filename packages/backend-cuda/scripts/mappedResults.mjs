// Times the smallest run on a GPU in the ways in which its input and its result can pass between host and device:
//
//   node packages/backend-cuda/scripts/mappedResults.mjs
//
// Needs the addon. "Copied": by the graph, as inputs of runs are, and results of more than 4 KiB. "Stored": the kernel stores its result to
// page-locked memory of the host, as kernels store small results. "Read in place": the kernel reads its input there, and "read before" is a launch
// that does so for the next one. Each is awaited by polling its event, as short runs are; "watched" polls the result itself. "In flight" is the time
// of each of 200 graphs that are queued at once: what a token of a model costs beyond its kernels. Medians in microseconds.
import { createRequire } from "node:module";

const count = 16;
const bytes = 4 * count;
const { Driver } = createRequire(import.meta.url)("../build/Release/centella_cuda.node");
const session = new Driver(0);
console.log(session.properties().name);

/** y [16] = x + 1 */
const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry add1(.param .u64 x, .param .u64 y)
{
  .reg .u64 %a, %b, %i;
  .reg .u32 %t;
  .reg .f32 %v;
  ld.param.u64 %a, [x];
  ld.param.u64 %b, [y];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %b, %b;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %i, %t, 4;
  add.u64 %a, %a, %i;
  add.u64 %b, %b, %i;
  ld.global.f32 %v, [%a];
  add.f32 %v, %v, 0f3F800000;
  st.global.f32 [%b], %v;
  ret;
}
`;
const kernel = session.kernel(await session.loadModule(text, "add1"), "add1", 0);
const memory = { x: session.alloc(256), y: session.alloc(256) };
const pinned = { x: session.allocPinned(256), y: session.allocPinned(256) };
const results = new Float32Array(session.viewPinned(pinned.y, bytes));

/** The graph of a form. Each of its launches adds 1. */
function graphOf({ input, result }) {
  const launch = (from, to) => session.launch(kernel, 1, 1, 1, count, 1, 1, 0, false, BigUint64Array.of(from, to), new BigUint64Array());
  session.beginCapture();
  if (input === "copied") session.copyToDevice(memory.x, pinned.x, bytes);
  if (input === "read before") launch(pinned.x, memory.x);
  launch(input === "read in place" ? pinned.x : memory.x, result === "stored" ? pinned.y : memory.y);
  if (result === "copied") session.copyFromDevice(pinned.y, memory.y, bytes);
  return session.endCapture();
}

const forms = [
  { input: "copied", result: "copied" },
  { input: "copied", result: "stored" },
  { input: "read before", result: "stored" },
  { input: "read in place", result: "stored" },
];
let next = 0;
for (const form of forms) {
  const graph = graphOf(form);
  const added = form.input === "read before" ? 2 : 1;
  const awaited = median(repeat(2000, () => timeOnce(graph, added, false)));
  const watched = median(repeat(2000, () => timeOnce(graph, added, true)));
  const queued = median(repeat(20, () => inFlight(graph, 200)));
  const line = [`awaited ${awaited.toFixed(2)}`, `watched ${watched.toFixed(2)}`, `in flight ${queued.toFixed(2)}`];
  console.log(`input ${form.input}, result ${form.result}: ${line.join(", ")}`);
}
session.close();

/** Microseconds from the input's write to the result's read, which is checked. */
function timeOnce(graph, added, isWatched) {
  const input = new Float32Array(count).fill(++next);
  const start = performance.now();
  session.writePinned(pinned.x, 0, new Uint8Array(input.buffer));
  session.launchGraph(graph);
  if (isWatched) watch(next + added, start);
  else {
    const mark = session.mark();
    while (!session.reached(mark, 1000));
  }
  const time = performance.now() - start;
  session.synchronize();
  if (results.some((result) => result !== next + added)) throw new Error(`expected ${next + added}, got ${results}`);
  return 1000 * time;
}

/** Returns when the result has arrived, or after a while. */
function watch(wanted, start) {
  while (results[count - 1] !== wanted && performance.now() - start < 20);
}

function inFlight(graph, graphs) {
  session.synchronize();
  const start = performance.now();
  for (let i = 0; i < graphs; i++) session.launchGraph(graph);
  session.synchronize();
  return (1000 * (performance.now() - start)) / graphs;
}

function repeat(times, work) {
  const all = Array.from({ length: times }, work);
  // The first ones warm up.
  return all.slice(all.length >> 2);
}

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}
