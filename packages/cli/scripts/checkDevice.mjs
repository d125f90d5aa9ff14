// Proves backends on this machine without a test runner: the conformance suite, large products, then models against llama.cpp's answers.
//   node packages/cli/scripts/checkDevice.mjs cuda webgpu        (needs a build; CENTELLA_SHARED names the folder of outside data)
// Prints a short table; the exit code is the number of failed checks. --log FILE keeps every message in full. --texts N is the number of texts
// under random schemas (default 1000), --only-texts leaves out all other checks, --only-families all but the models of the families, of which
// --family NAME chooses some. --distances FOLDER writes how far these models are from llama.cpp's answers, a file for each backend, for
// packages/llm/scripts/parity.mjs --take FILE. --archs FOLDER checks the models of llama.cpp's architecture test. CENTELLA_COMMIT names the commit where git does not.
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { runConformance } from "@centella/conformance/headless";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { adapterModels, argmax, floatsOf, halfModels, headModels, llamaCppModels, relativeError } from "./deviceModels.mjs";
import { largeProducts } from "./deviceProducts.mjs";

const factories = { cuda: cuda(), webgpu: webgpu(), wasm: wasm() };
const shared = process.env.CENTELLA_SHARED ?? "../shared";
const models = fileURLToPath(new URL("../../model-fable/models/", import.meta.url));
const { values: options, positionals: names } = parseArgs({
  options: {
    log: { type: "string" },
    texts: { type: "string", default: "1000" },
    "only-texts": { type: "boolean", default: false },
    "only-families": { type: "boolean", default: false },
    distances: { type: "string" },
    family: { type: "string", multiple: true },
    archs: { type: "string" },
  },
  allowPositionals: true,
});
let failures = 0;
/** Distances to llama.cpp's logits by model, as packages/llm/scripts/parity.mjs names models. */
const distances = new Map();

for (const name of names) await checkBackend(name, factories[name]);
process.exitCode = Math.min(failures, 100);

async function checkBackend(name, factory) {
  const runtime = await createRuntime({ backends: [factory], policy: policyOf(name) });
  const [{ backend, unavailable }] = runtime.candidates;
  if (backend === undefined) {
    report(name, "open", false, unavailable);
    return;
  }
  console.log(`\n${name}: ${backend.device.name}`);
  if (options["only-families"]) await checkLogitsOfFamilies(name, runtime);
  else {
    if (!options["only-texts"]) await checkComputing(name, runtime, backend);
    await checkTexts(name, runtime);
  }
  if (options.distances && distances.size > 0) writeDistances(name, backend.device.name);
  await runtime.dispose();
}

function policyOf(name) {
  return { force: name, allowSoftware: true };
}

function writeDistances(backend, device) {
  const commit = process.env.CENTELLA_COMMIT ?? execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const date = new Date().toISOString().slice(0, 10);
  mkdirSync(options.distances, { recursive: true });
  const run = { backend, device, date, commit, distances: Object.fromEntries(distances) };
  writeFileSync(join(options.distances, `${backend}.json`), `${JSON.stringify(run, null, 1)}\n`);
  distances.clear();
}

async function checkComputing(name, runtime, backend) {
  await checkConformance(name, backend);
  if (backend.syncAvailable) await checkSync(name, runtime, backend);
  if (backend.device.kind === "gpu") for (const [what, work] of largeProducts(backend)) await check(name, what, work);
  for (const run of greedyRuns("data/stories260K")) await checkGreedy(name, runtime, run);
  for (const run of greedyRuns("models")) await checkGreedy(name, runtime, run);
  await checkLogitsOfFamilies(name, runtime);
  await checkAdaptersAndHeads(name, runtime);
  await timeDecode(name, runtime);
}

async function checkLogitsOfFamilies(name, runtime) {
  for (const family of families().filter(isWanted)) {
    await checkLogits(name, runtime, `data/archs/${family}.gguf`, `data/archs/${family}.logits.f32`, ids(12), 1e-3);
    await checkLogits(name, runtime, `data/archs/${family}.gguf`, `data/archs/${family}.logits200.f32`, "data/archs/ids200.txt", 1e-3);
  }
  for (const [what, work] of halfModels(familyFiles(), runtime, tokensOf("data/archs/ids200.txt"))) await check(name, what, work);
  await checkFamilies(name, runtime);
  if (options.archs) for (const [what, work] of llamaCppModels(options.archs, runtime, isWanted)) await check(name, what, work);
}

/** What llm's tests have files for. A packed workspace may lack them. */
async function checkAdaptersAndHeads(name, runtime) {
  const tests = new URL("../../llm/test/headFixture.ts", import.meta.url);
  if (!existsSync(tests)) {
    console.log(`skip ${name} adapters and heads: ${fileURLToPath(tests)} is not here`);
    return;
  }
  for await (const [what, work] of adapterModels(runtime)) await check(name, what, work);
  for await (const [what, work] of headModels([factories[name]], policyOf(name))) await check(name, what, work);
}

/** Whether a model is among those of --family, or there is none. */
function isWanted(family) {
  return options.family?.includes(family) ?? true;
}

async function checkConformance(name, backend) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { id, status, message } of runConformance(backend)) {
    counts[status]++;
    if (status === "failed") report(name, id, false, message);
    else log(`${name} ${id}: ${status} ${message}`);
  }
  report(name, "conformance", counts.failed === 0, `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
}

/** Small whole numbers, so that every order of summation is exact. */
async function checkSync(name, runtime, backend) {
  await check(name, "runtime.sync", async () => {
    const size = 96;
    const values = Float32Array.from({ length: size * size }, (_, i) => (i % 7) - 3);
    const a = runtime.tensor(values, [size, size]);
    await backend.idle();
    const before = { ...backend.counters.ops };
    const sum = runtime.sync.add(a, a);
    const product = runtime.sync.matmul(a, sum);
    const later = await runtime.relu(product);
    await later.ready();
    const last = runtime.sync.neg(later).dataSync();
    const ran = ["add", "matmul", "neg"].filter((op) => backend.counters.ops[op] === (before[op] ?? 0) + 1);
    let wrong = sum.dataSync().filter((value, i) => value !== 2 * values[i]).length;
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        let want = 0;
        for (let k = 0; k < size; k++) want += values[row * size + k] * 2 * values[k * size + column];
        const at = row * size + column;
        if (product.dataSync()[at] !== want || last[at] !== -Math.max(0, want)) wrong++;
      }
    }
    return { ok: wrong === 0 && ran.length === 3, message: `${wrong} wrong elements of add and matmul; ran ${ran.join(", ")} on ${name}` };
  });
}

async function checkGreedy(name, runtime, { path, model: file, prompt_ids: promptIds, out, min_top1_top2_gap: gap }) {
  if (!existsSync(path)) return;
  const isPlain = /260K\.gguf$|[Ff]16\.gguf$/.test(file);
  await check(name, `greedy ${file} (${promptIds.length} prompt ids)`, async () => {
    const model = await loadModel(path, { runtime, cacheType: "f32", activations: "ggml" });
    try {
      if (isPlain && gap > 0.005) {
        const { ids: got } = await model
          .createSession()
          .complete({ ids: promptIds }, { temperature: 0, repeatPenalty: 1, maxTokens: out.length });
        const same = got.findIndex((id, i) => id !== out[i]);
        return {
          ok: same === -1 && got.length === out.length,
          message: `${same === -1 ? got.length : same} of ${out.length} tokens equal`,
        };
      }
      const logits = await model.logits([...promptIds, ...out.slice(0, -1)]);
      const width = model.info.vocabSize;
      const agreed = out.filter((id, i) => id === argmax(logits, (promptIds.length - 1 + i) * width, width)).length;
      return { ok: agreed >= 98, message: `${agreed} of ${out.length} choices agree, activations ${model.info.activations}` };
    } finally {
      await model.dispose();
    }
  });
}

async function checkLogits(name, runtime, file, oracle, given, limit) {
  const path = join(shared, file);
  if (!existsSync(path)) return;
  await check(name, oracle, async () => {
    const tokens = typeof given === "string" ? tokensOf(given) : given;
    const model = await loadModel(path, { runtime, cacheType: "f32", activations: "ggml" });
    try {
      const logits = await model.logits(tokens);
      const wanted = floatsOf(readFileSync(join(shared, oracle)));
      const error = relativeError(logits, wanted);
      if (oracle.endsWith(".logits.f32")) distances.set(file.slice("data/".length, -".gguf".length), error);
      return { ok: error < limit, message: `relative error ${error.toExponential(2)}` };
    } finally {
      await model.dispose();
    }
  });
}

/** The tiny models of every family beside llm's tests. A packed workspace may lack them. */
async function checkFamilies(name, runtime) {
  const [fixture, errors] = ["familyFixture", "familyError"].map((file) => new URL(`../../llm/test/${file}.ts`, import.meta.url));
  if (!existsSync(fixture)) {
    console.log(`skip ${name} tiny families: ${fileURLToPath(fixture)} is not here`);
    return;
  }
  const { familyGoldens, readFamilyGolden } = await import(fixture.href);
  const { asLlamaCpp, familyError, modelOfFamily } = await import(errors.href);
  for (const family of familyGoldens.filter(isWanted)) {
    const golden = readFamilyGolden(family);
    await check(name, `tiny ${family}`, async () => {
      const model = await loadModel(modelOfFamily(golden), { runtime, ...asLlamaCpp });
      try {
        const error = await familyError(model, golden);
        if (golden.ranked === undefined) distances.set(family, error);
        return { ok: error < (golden.tolerance ?? 1e-3), message: `error ${error.toExponential(2)}` };
      } finally {
        await model.dispose();
      }
    });
  }
}

/** Texts of the embedded models under random schemas at temperature 2. A packed workspace may lack the schemas. */
async function checkTexts(name, runtime) {
  const schemas = new URL("../../llm/test/randomSchemas.ts", import.meta.url);
  if (!existsSync(schemas)) {
    console.log(`skip ${name} texts under schemas: ${fileURLToPath(schemas)} is not here`);
    return;
  }
  const { invalidTexts } = await import(schemas.href);
  const files = ["fable-tiny-q8_0.gguf", "fable-q4_k_m.gguf"];
  for (const [i, file] of files.entries()) {
    await check(name, `texts under schemas, ${file}`, async () => {
      const model = await loadModel(join(models, file), { runtime, contextLength: 512, sequences: 16 });
      try {
        const start = performance.now();
        const count = Math.ceil(Number(options.texts) / files.length);
        const prompt = [...model.tokenizer.encode("Once upon a time")];
        const invalid = await invalidTexts(model, { count, from: i * count, atATime: 16, ids: prompt });
        const seconds = ((performance.now() - start) / 1000).toFixed(1);
        return {
          ok: invalid.length === 0,
          message: `${count - invalid.length} of ${count} texts valid in ${seconds} s ${invalid.slice(0, 3).join("; ")}`,
        };
      } finally {
        await model.dispose();
      }
    });
  }
}

async function timeDecode(name, runtime) {
  await check(name, "decode of the embedded model", async () => {
    const model = await loadModel(join(models, "fable-q4_k_m.gguf"), { runtime });
    const rates = [];
    for (let round = 0; round < 4; round++) {
      const { timings } = await model
        .createSession()
        .complete("Tell me a story about the sea.", { temperature: 0, repeatPenalty: 1, maxTokens: 64, seed: 1 });
      rates.push([timings.promptTokensPerSecond, timings.decodeTokensPerSecond]);
    }
    await model.dispose();
    const [prompt, decode] = [0, 1].map(
      (k) =>
        rates
          .slice(1)
          .map((rate) => rate[k])
          .sort((a, b) => a - b)[1],
    );
    return { ok: true, message: `prompt ${prompt.toFixed(0)}, decode ${decode.toFixed(0)} tokens/s (median of 3)` };
  });
}

async function check(name, what, work) {
  try {
    const { ok, message } = await work();
    report(name, what, ok, message);
  } catch (error) {
    report(name, what, false, error.stack ?? String(error));
  }
}

function report(name, what, ok, message) {
  if (!ok) failures++;
  console.log(`${ok ? "ok  " : "FAIL"} ${name} ${what}: ${message.split("\n").slice(0, 2).join(" ").slice(0, 400)}`);
  log(`${ok ? "ok" : "FAIL"} ${name} ${what}: ${message}`);
}

function log(line) {
  if (options.log) appendFileSync(options.log, `${line}\n`);
}

function greedyRuns(folder) {
  const file = join(shared, folder, "greedy.jsonl");
  if (!existsSync(file)) return [];
  const local = (model) => (existsSync(join(shared, folder, model)) ? join(shared, folder, model) : join(models, model));
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .map((run) => ({ ...run, path: local(run.model) }));
}

/** The small models of all families that llama.cpp's logits are there for. */
function families() {
  const folder = join(shared, "data/archs");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith(".gguf"))
    .map((file) => file.replace(".gguf", ""));
}

/** The same models with llama.cpp's logits of the tokens of `ids200.txt`. */
function familyFiles() {
  const of = (file) => join(shared, "data/archs", file);
  return families()
    .filter(isWanted)
    .map((name) => ({ name, path: of(`${name}.gguf`), logits: of(`${name}.logits200.f32`) }))
    .filter(({ logits }) => existsSync(logits));
}

/** The tokens of a file; none where it is missing. */
function tokensOf(file) {
  const path = join(shared, file);
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .trim()
    .split(/[\s,]+/)
    .map(Number);
}

function ids(count) {
  return Array.from({ length: count }, (_, i) => i + 1);
}
