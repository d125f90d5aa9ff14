// Times products of one row on CUDA in the ways in which a run can have them, to tell what their time is made of:
//
//   node apps/bench/scripts/launchForms.mjs [--shapes 28672x4096,...] [--type q4_K] [--rounds 6] [--seconds 28] [--floor 4.3]
//
// Needs a build. "Own rows": each call has a row of its own, which comes from memory after the launch before has ended. "Same row": all calls read
// one row, as caches have it in models. "One launch": the same as a group, in which products hide each other's start and end. Launches start early
// (programmatic dependent launch) or each after the end of the one before. Prints microseconds of a call on the device alone, least and median of
// the rounds, and the share of --floor in TB/s; 4.3 is an H200. Results are compared first.
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { cuda } from "@centella/backend-cuda";
import { contentsOf, sourceOf, uniform } from "@centella/conformance/headless";
import { createProgram } from "@centella/core";

const { values: options } = parseArgs({
  options: {
    shapes: { type: "string", default: "28672x4096,4096x14336,6144x4096,4096x4096,8192x8192" },
    type: { type: "string", default: "q4_K" },
    rounds: { type: "string", default: "6" },
    seconds: { type: "string", default: "28" },
    floor: { type: "string", default: "4.3" },
  },
});
const started = performance.now();
const isOver = () => performance.now() - started > 1000 * Number(options.seconds);

/** Rows of a weight after which it is repeated. */
const period = 128;
/** A run moves as many bytes and takes as many seconds at the floor, but for a group's most inputs. */
const rotatedBytes = 2 ** 28;
const runSeconds = 4e-4;
const maxCalls = 63;

let startsEarly = true;
patchLaunches();
const backend = await cuda().open();
console.log(backend.device.name);
for (const shape of options.shapes.split(",")) if (!isOver()) await timeShape(shape);
console.log(`${((performance.now() - started) / 1000).toFixed(0)} s`);
await backend.dispose();
process.exit(process.exitCode ?? 0);

/** Makes launches of the addon plain ones while {@link startsEarly} is false. */
function patchLaunches() {
  const require = createRequire(import.meta.resolve("@centella/backend-cuda"));
  const addon = require(addonPath(require));
  addon.Driver = class extends addon.Driver {
    launch(...sizesAndArgs) {
      const [isDependent, ...memory] = sizesAndArgs.slice(8);
      super.launch(...sizesAndArgs.slice(0, 8), isDependent && startsEarly, ...memory);
    }
  };
}

function addonPath(require) {
  try {
    return require.resolve("../build/Release/centella_cuda.node");
  } catch {
    return require.resolve(`@centella/backend-cuda-${process.platform}-${process.arch}`);
  }
}

async function timeShape(shape) {
  const [n, k] = shape.split("x").map(Number);
  const dtype = options.type;
  const { stored, row, expected } = dataOf(dtype, n, k);
  const floorSeconds = stored.length / (1e12 * Number(options.floor));
  const calls = Math.min(maxCalls, Math.ceil(Math.max(rotatedBytes / stored.length, runSeconds / floorSeconds)));
  const program = (hasOwnRows) => {
    const recorded = createProgram();
    const xs = Array.from({ length: hasOwnRows ? calls : 1 }, (_, call) =>
      recorded.persistent(`x${call}`, { dtype: "f32", shape: [1, k] }),
    );
    for (let call = 0; call < calls; call++) {
      const w = recorded.persistent(`w${call}`, { dtype, shape: [n, k] });
      const activations = backend.preferredActivations(dtype);
      recorded.output(`y${call}`, recorded.matmul(xs[call] ?? xs[0], w, { transposeB: true, activations }), { to: "device" });
    }
    return recorded;
  };
  const own = await backend.compile(program(true));
  for (let call = 0; call < calls; call++) {
    await own.load(`x${call}`, sourceOf(new Uint8Array(row.buffer)));
    await own.load(`w${call}`, sourceOf(stored));
  }
  const one = await backend.compile(program(false), { shareWith: own });
  const { fusion } = backend;
  // A group of one call is none.
  Object.assign(backend, { fusion: { maxCalls: 1 } });
  const same = await backend.compile(program(false), { shareWith: own });
  Object.assign(backend, { fusion });
  const forms = [
    { name: "own rows", plan: own, early: true, times: [] },
    { name: "own rows, one after the other", plan: own, early: false, times: [] },
    { name: "same row", plan: same, early: true, times: [] },
    { name: "same row, one after the other", plan: same, early: false, times: [] },
    { name: "one launch", plan: one, early: true, times: [] },
  ];
  for (const { name, plan } of forms) {
    const error = await errorOf(plan, calls, expected);
    if (!(error <= 5e-3)) {
      console.log(`${name}: WRONG, relative error ${error.toExponential(1)}`);
      process.exitCode = 1;
    }
  }
  for (let round = 0; round < Number(options.rounds); round++) for (const form of forms) form.times.push(await timeOnce(form, calls));
  console.log(`\n${dtype} ${shape}, ${calls} calls, ${(1e6 * floorSeconds).toFixed(1)} µs at the floor`);
  for (const { name, times } of forms) {
    times.sort((a, b) => a - b);
    const middle = times[times.length >> 1];
    const share = ((100 * 1e6 * floorSeconds) / middle).toFixed(0);
    console.log(`  ${name.padEnd(30)} ${times[0].toFixed(2).padStart(7)} ${middle.toFixed(2).padStart(7)} µs  ${share.padStart(3)} %`);
  }
  for (const plan of [one, same, own]) plan.dispose();
}

/** Microseconds of a call. The device works before, because one that paused has low clocks. */
async function timeOnce({ plan, early }, calls) {
  startsEarly = true;
  const outputs = Array.from({ length: 8 }, () => Object.values(plan.run({})));
  for (const [y] of outputs) await y.ready();
  for (const tensor of outputs.flat()) tensor.dispose();
  startsEarly = early;
  const { total } = await plan.profile({}, { perStep: false });
  startsEarly = true;
  return total / calls;
}

/** Weights whose rows repeat, a row of activations, and the first results. */
function dataOf(dtype, n, k) {
  const weight = contentsOf({ dtype, shape: [period, k] }, 5);
  const part = new Uint8Array(weight.stored.buffer, weight.stored.byteOffset, weight.stored.byteLength);
  const stored = new Uint8Array((part.length / period) * n);
  for (let at = 0; at < stored.length; at += part.length) stored.set(part.subarray(0, stored.length - at), at);
  const row = uniform(3, k);
  const expected = Float64Array.from({ length: period }, (_, c) =>
    row.reduce((sum, value, i) => sum + value * weight.decoded[c * k + i], 0),
  );
  return { stored, row, expected };
}

/** Largest relative error of the first and the last call's results. */
async function errorOf(plan, calls, expected) {
  const outputs = plan.run({});
  let most = 0;
  for (const name of ["y0", `y${calls - 1}`]) {
    const got = await outputs[name].data();
    let [errors, norm] = [0, 0];
    for (const [i, value] of got.entries()) {
      const want = expected[i % period];
      errors += (value - want) ** 2;
      norm += want ** 2;
    }
    most = Math.max(most, Math.sqrt(errors / norm));
  }
  for (const tensor of Object.values(outputs)) tensor.dispose();
  return most;
}
