// Times products of one row on a GPU in many of the forms that WebGPU's kernels have, each after its results were compared with the reference.
//
//   node apps/bench/scripts/rowForms.mjs [--shapes 8192x8192,...] [--types q4_K,...] [--seconds 95] [--floor 4.3] [--all]
//
// Needs a build. Prints the form that the kernels had once and the fastest others, with the microseconds of a call on the device alone and the
// share of --floor, in TB/s: 4.3 is an H200; --all prints every form. Each call is a dispatch of its own: products of one tensor would be a group,
// of more columns than those of a model have, whose workgroups prepare the row once. The weights of neighbouring calls are different memory, more
// than caches hold.
import { parseArgs } from "node:util";
import { webgpu } from "@centella/backend-webgpu";
import { contentsOf, sourceOf, uniform } from "@centella/conformance/headless";
import { createProgram } from "@centella/core";

const { values: options } = parseArgs({
  options: {
    shapes: { type: "string", default: "8192x8192,28672x4096,4096x14336,6144x4096,4096x4096,128256x4096" },
    types: { type: "string", default: "q4_K,f32:q4_K,q8_0,f16,q6_K" },
    seconds: { type: "string", default: "95" },
    floor: { type: "string", default: "4.3" },
    all: { type: "boolean", default: false },
  },
});
const started = performance.now();
const isOver = () => performance.now() - started > 1000 * Number(options.seconds);

/** Rows of a weight after which it is repeated, and bytes of the weights of a run. */
const period = 128;
const rotatedBytes = 2.2e8;

/** The form that dispatches have, and whether the backend chose another one. */
let wanted;
let isRefused = false;
const store = {
  get: () => wanted,
  set() {
    isRefused = true;
  },
};
const backend = await webgpu({ tuning: store }).open();
Object.assign(backend, { fusion: { maxCalls: 1 } });
const isSmall = backend.device.kind !== "gpu";
/** How long the device works before times are taken, and how often each form is timed. */
const warmMilliseconds = isSmall ? 0 : 1500;
const rounds = 4;

console.log(`${backend.device.name}; forms are lanes/of a column/columns of a lane/turns/steps`);

for (const shape of options.shapes.split(",")) for (const type of options.types.split(",")) if (!isOver()) await timeForms(shape, type);
console.log(`${((performance.now() - started) / 1000).toFixed(0)} s`);
await backend.dispose();
process.exit(0);

async function timeForms(shape, type) {
  const [n, k] = shape.split("x").map(Number);
  const [dtype, mode] = type.startsWith("f32:") ? [type.slice(4), "f32"] : [type, backend.preferredActivations(type)];
  const weight = contentsOf({ dtype, shape: [period, k] }, 5);
  const part = new Uint8Array(weight.stored.buffer, weight.stored.byteOffset, weight.stored.byteLength);
  const stored = new Uint8Array((part.length / period) * n);
  for (let at = 0; at < stored.length; at += part.length) stored.set(part.subarray(0, Math.min(part.length, stored.length - at)), at);
  const calls = isSmall ? 2 : Math.max(2, Math.ceil(rotatedBytes / stored.length));
  const program = createProgram();
  const x = program.persistent("x", { dtype: "f32", shape: [1, k] });
  for (let call = 0; call < calls; call++) {
    const w = program.persistent(`w${call}`, { dtype, shape: [n, k] });
    program.output(`y${call}`, program.matmul(x, w, { transposeB: true, activations: mode }), { to: "device" });
  }
  const row = uniform(3, k);
  const expected = Float64Array.from({ length: period }, (_, c) =>
    row.reduce((sum, value, i) => sum + value * weight.decoded[c * k + i], 0),
  );
  const plans = [];
  const compile = async (form, shareWith) => {
    wanted = form;
    isRefused = false;
    const plan = await backend.compile(program, shareWith && { shareWith, background: true });
    plans.push(plan);
    return { plan, isRefused };
  };
  wanted = own(dtype, mode, n, k);
  const { plan: base } = await compile(wanted);
  await base.load("x", sourceOf(new Uint8Array(row.buffer)));
  for (let call = 0; call < calls; call++) await base.load(`w${call}`, sourceOf(stored));
  const limit = mode === "ggml" ? 3e-2 : mode === "half" ? 5e-3 : 1e-4;
  const results = [];
  // Dawn compiles kernels at the same time, so all are asked for before any runs.
  const asked = [];
  for (const form of [...new Set([wanted, ...formsOf(dtype, mode, n, k)])]) asked.push({ form, ...(await compile(form, base)) });
  for (const { form, plan, isRefused } of asked)
    results.push({ form, plan, text: isRefused ? "no such form" : await wrong(plan, { expected, n, limit }) });
  // An idle device lowers its clocks, and times are then several times too long: it works before each time is taken, and forms take turns.
  const sound = results.filter(({ text }) => text === undefined);
  for (const until = performance.now() + warmMilliseconds; performance.now() < until; ) await busy(base);
  const witness = [];
  for (let round = 0; round < rounds && sound.length > 0; round++)
    for (const result of sound) {
      if (isOver()) break;
      witness.push(await timeOnce(base, calls));
      result.best = Math.min(result.best ?? Number.POSITIVE_INFINITY, await timeOnce(result.plan, calls));
    }
  for (const plan of plans.reverse()) plan.dispose();
  if (witness.length === 0) return;
  report(`${type} ${shape} (${mode})`, results, stored.length);
  console.log(
    `  the first form between the others: ${Math.min(...witness).toFixed(1)} to ${Math.max(...witness).toFixed(1)} µs; far apart, clocks changed and no time here counts`,
  );
}

/** What is wrong with the results of a plan; undefined for right ones. */
async function wrong(plan, { expected, n, limit }) {
  try {
    const error = await errorOf(plan, expected, n);
    return error <= limit ? undefined : `WRONG, relative error ${error.toExponential(1)}`;
  } catch (error) {
    return String(error).slice(0, 120);
  }
}

/** Microseconds of a call, timed after runs that keep the device at work. */
async function timeOnce(plan, calls) {
  const before = isSmall ? undefined : busy(plan);
  const { total } = await plan.profile({}, { perStep: false });
  await before;
  return total / calls;
}

/** Resolves when a few runs are over. */
async function busy(plan) {
  const outputs = Array.from({ length: 8 }, () => Object.values(plan.run({})));
  await outputs.at(-1)[0].data();
  for (const tensor of outputs.flat()) tensor.dispose();
}

function report(title, [first, ...others], bytes) {
  const line = ({ form, best, text }) =>
    `${shortName(form)} ${best === undefined ? text : `${best.toFixed(1)} µs ${((100 * bytes) / (1e12 * Number(options.floor)) / best / 1e-6).toFixed(0)} %`}`;
  const timed = others.filter(({ best }) => best !== undefined).toSorted((a, b) => a.best - b.best);
  console.log(
    `${title}: own ${line(first)}; best ${timed
      .slice(0, options.all ? undefined : 5)
      .map(line)
      .join("; ")}`,
  );
  const failed = others.filter(({ best }) => best === undefined);
  if (failed.length > 0) console.log(`  not timed: ${failed.map(line).join("; ")}`);
}

function shortName(name) {
  const counts = name.match(/\d+/g);
  return `${[0, 1, 2, 3, 5].map((i) => counts[i]).join("/")}${counts[4] === "32" ? "" : ` of ${counts[4]}`}`;
}

/** The backend's own name of a form. */
function nameOf([lanes, perColumn, columns, turns, steps]) {
  return `${lanes} lanes, ${perColumn} per column, ${columns} columns, ${turns} turns, subgroups of ${isSmall ? 4 : 32}, ${steps} steps`;
}

/** A form to compare with: what a device as large as an H200 took until 28 November 2026. */
function own(dtype, mode, n, k) {
  if (dtype === "f16") return nameOf([128, 128, 2, 1, k === 14336 ? 7 : 4]);
  const lanes = k >= 8192 ? 1024 : 512;
  if (mode === "f32") return nameOf([512, 32, 2, 1, 1]);
  const groups = n / (lanes / 32);
  return nameOf([lanes, 32, 1, Math.max(1, Math.ceil((groups * lanes) / (132 * 1024))), 1]);
}

/** Forms that may be fast. Turns are such that workgroups fill a number of places on each of 132 processors. */
function formsOf(dtype, mode, n, k) {
  if (dtype === "f16") {
    const steps = k / 8;
    const works = [
      [128, 128, 2],
      [128, 64, 2],
      [64, 64, 2],
      [64, 64, 1],
      [128, 128, 1],
      [128, 32, 2],
      [128, 32, 4],
      [256, 64, 2],
      [256, 128, 2],
      [128, 128, 4],
      [256, 256, 2],
    ];
    return works.flatMap(([lanes, perColumn, columns]) =>
      [1, 2, 4, 7, 8]
        .filter((ahead) => steps % (perColumn * ahead) === 0 && ahead * columns <= 16)
        .slice(-3)
        .map((ahead) => nameOf([lanes, perColumn, columns, 1, ahead, false])),
    );
  }
  const steps = k / (dtype === "q8_0" ? 32 : 64);
  const exact = mode === "f32";
  // Lanes, lanes of a column, columns of a lane, and numbers of places on a processor.
  const works = exact
    ? [
        [1024, 32, 2, [1]],
        [512, 32, 2, [2, 3]],
        [256, 32, 2, [4]],
        [512, 32, 1, [2]],
        [512, 64, 2, [2]],
        [512, 32, 4, [2]],
      ]
    : [
        [1024, 32, 1, [1, 2]],
        [512, 32, 1, [1, 2, 3, 4]],
        [256, 32, 1, [6]],
        [512, 64, 1, [2]],
        [512, 32, 2, [2]],
      ];
  return works.flatMap(([lanes, perColumn, columns, places]) => {
    const atOnce = (lanes / perColumn) * columns;
    const turns = [...new Set(places.map((each) => Math.max(1, Math.ceil(n / atOnce / (132 * each)))))];
    const aheads = [1, 2].filter((ahead) => ahead === 1 || steps % (ahead * perColumn) === 0);
    return turns.flatMap((turn) => aheads.map((ahead) => nameOf([lanes, perColumn, columns, turn, ahead])));
  });
}

async function errorOf(plan, expected, n) {
  const outputs = plan.run({});
  const { y0, ...others } = outputs;
  for (const tensor of Object.values(others)) tensor.dispose();
  const got = await y0.data();
  y0.dispose();
  let [errors, norm] = [0, 0];
  for (let i = 0; i < n; i++) {
    errors += (got[i] - expected[i % expected.length]) ** 2;
    norm += expected[i % expected.length] ** 2;
  }
  return Math.sqrt(errors / norm);
}
