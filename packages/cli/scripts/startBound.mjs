// Prints what a process must spend until `centella run` shows its first text, in ms, beside what it spends. Run it after a build:
// node_modules/.bin/node packages/cli/scripts/startBound.mjs [FILE] [RUNS]
//
// - "Node alone": a process that computes nothing, from its start to its end.
// - "compiled code": reading the script and the code that V8 kept of it, without calling any of it.
// - "weights": reading the file into memory of WASM that was never used, which the system first has to clear.
// - "interleaving": one copy of the same bytes, in memory that was used before.
// - "kernels": V8's fastest compiler, for exactly the modules of kernels that the command calls. "called": for those functions alone whose
//   first call needs them, as V8 compiles by default, but nothing else of loading.
// - "first token": the same prompt in a process that has computed it many times.
// - "loading again": the same model in a process that has loaded it many times, so that its JavaScript and its kernels are compiled.
//
// Each of the first four and the last measurement of the command have a process of their own for each sample, in turn. The command finds
// what an earlier one kept. Medians, and the lowest.
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { fable } from "@centella/model-fable";

const prompt = "Once upon a time";
/** Bytes that are read at once, as the command reads weights. */
const chunkBytes = 2 ** 22;

const own = fileURLToPath(import.meta.url);
const command = fileURLToPath(new URL("../bin/centella.cjs", import.meta.url));
const scriptFile = fileURLToPath(new URL("../dist/script.cjs", import.meta.url));

/** Parts that a process of their own measures: each returns ms. */
const parts = {
  code: (folder) =>
    timed(() => {
      const source = readFileSync(scriptFile, "latin1");
      const cachedData = keptCode(folder);
      const script = new Script(source, { filename: scriptFile, cachedData });
      if (script.cachedDataRejected) throw new Error("compiled code: expected V8 to take what it kept, got a refusal");
      script.runInThisContext();
    }),
  weights: (_folder, file) => {
    const memory = unusedMemory(file);
    return timed(() => readInto(memory, file));
  },
  kernels: (folder) => {
    const modules = keptModules(folder);
    return timed(() => modules.map((bytes) => new WebAssembly.Module(bytes)));
  },
};
/** Without them V8 compiles a function when it is first called. */
const eager = ["--no-wasm-lazy-compilation", "--no-wasm-tier-up"];

const [first, ...others] = process.argv.slice(2);
if (Object.hasOwn(parts, first)) console.log(parts[first](...others));
else await printBound(first ?? fileURLToPath(fable), Number(others[0] ?? 25));

async function printBound(file, runs) {
  const folder = mkdtempSync(join(tmpdir(), "centella-start-"));
  try {
    const cache = { ...process.env, NODE_COMPILE_CACHE: folder, XDG_CACHE_HOME: folder };
    const started = (...args) => outputOf(args, cache);
    const run = () => started(command, "run", file, prompt, "-n", "1");
    // The first writes what later ones read, and the second what only a process without the first one's work needs.
    for (let i = 0; i < 3; i++) await run();
    const inside = async (flags, part) => Number((await started(...flags, own, part, folder, file)).text);
    const samples = { node: [], code: [], weights: [], kernels: [], run: [] };
    for (let i = 0; i < runs; i++) {
      samples.node.push((await started("-e", "0")).endMs);
      samples.code.push(await inside([], "code"));
      samples.weights.push(await inside([], "weights"));
      samples.kernels.push(await inside(eager, "kernels"));
      samples.run.push((await run()).firstMs);
    }
    const warm = await warmTimes(file, runs);
    const floor = [
      ["Node alone", samples.node],
      ["compiled code", samples.code],
      ["weights", samples.weights],
      ["interleaving", copyTimes(file, runs)],
      ["kernels", samples.kernels],
      ["first token", warm.tokens],
    ];
    for (const [name, ms] of floor) print(name, median(ms), Math.min(...ms));
    print("sum", ...[median, (ms) => Math.min(...ms)].map((of) => floor.reduce((sum, [, ms]) => sum + of(ms), 0)));
    print("loading again", median(warm.loads), Math.min(...warm.loads));
    print("centella run", median(samples.run), Math.min(...samples.run));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Times of loading the model and of its first token, after as many that are not counted. */
async function warmTimes(file, runs) {
  const times = { loads: [], tokens: [] };
  const runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  for (let i = 0; i < 2 * runs; i++) {
    const start = performance.now();
    const model = await loadModel(file, { runtime });
    const loaded = performance.now();
    // The second prompt begins with another token, so that nothing of it is cached.
    await model.createSession().complete(prompt, { maxTokens: 1 });
    const ids = model.tokenizer.encode(prompt).with(0, 10 + i);
    const prefilled = performance.now();
    await model.createSession().complete({ ids }, { maxTokens: 1 });
    if (i >= runs) {
      times.loads.push(loaded - start);
      times.tokens.push(performance.now() - prefilled);
    }
    await model.dispose();
  }
  await runtime.dispose();
  return times;
}

function copyTimes(file, runs) {
  const memory = unusedMemory(file);
  const bytes = readInto(memory, file);
  const [from, to] = [new Uint8Array(memory.buffer, 0, bytes), new Uint8Array(bytes).fill(1)];
  return Array.from({ length: runs }, () => timed(() => to.set(from)));
}

function unusedMemory(file) {
  const pages = Math.ceil(statSync(file).size / 2 ** 16) + chunkBytes / 2 ** 16;
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}

/** Returns the number of bytes. */
function readInto(memory, file) {
  const all = new Uint8Array(memory.buffer);
  const descriptor = openSync(file);
  let at = 0;
  for (let got = 1; got > 0; at += got) got = readSync(descriptor, all, at, chunkBytes, null);
  closeSync(descriptor);
  return at;
}

/** Content of the first file in a folder whose name `isKept` accepts. */
function keptFile(folder, isKept) {
  const name = readdirSync(folder, { recursive: true }).find((each) => isKept(basename(each)));
  if (name === undefined) throw new Error(`${folder}: expected a file that the command kept, got none`);
  return readFileSync(join(folder, name));
}

/** Code of the script that V8 kept, without its checksum. */
function keptCode(folder) {
  return keptFile(folder, (name) => name.startsWith("centella-run-")).subarray(0, -4);
}

/** The modules that `KeptKernels` packed, after the checksum of the file. */
function keptModules(folder) {
  const all = keptFile(join(folder, "centella", "kernels"), () => true).subarray(4);
  const length = all.readUInt32LE(0);
  let at = 4 + length;
  return JSON.parse(all.toString("utf8", 4, at)).map(({ size }) => {
    at += size;
    return all.subarray(at - size, at);
  });
}

/** Output of a process, and ms from its start to its first output and to its end. */
async function outputOf(args, env) {
  const start = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let [text, firstMs] = ["", undefined];
  child.stdout.setEncoding("utf8").on("data", (more) => {
    firstMs ??= performance.now() - start;
    text += more;
  });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (more) => {
    problem += more;
  });
  const code = await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  if (code !== 0) throw new Error(`${args.join(" ")}: expected exit code 0, got ${code}: ${problem}`);
  return { text, firstMs, endMs: performance.now() - start };
}

function timed(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function median(ms) {
  return ms.toSorted((a, b) => a - b)[ms.length >> 1];
}

function print(name, medianMs, lowestMs) {
  console.log(`${name.padEnd(16)} ${medianMs.toFixed(1).padStart(6)} ms, lowest ${lowestMs.toFixed(1)}`);
}
