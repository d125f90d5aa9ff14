// Compares the logits of small models on devices with those of the scalar reference, which adds in f64: a row for each architecture.
//
//   node packages/cli/scripts/deviceLogits.mjs cuda webgpu [--folder ../shared/data/archs] [--model NAME ...] [--seconds 240]
//
// Needs a build. The folder has files NAME.gguf of f32 weights, llama.cpp's logits NAME.logits200.f32, and their tokens ids200.txt. Each model is
// computed with f32 activations and an f32 cache, and with "half" activations and an f16 cache on f32 weights and on the same weights in f16 and
// Q4_K_M. llama.cpp looks GELU up in a table of halves, so models with GELU are up to 2e-4 from its logits.
//
// The exit code is the number of results beyond the bars: f32 1e-4 (webgpu 2e-4); half a cosine of 0.999 with the same choice at 99 % of positions,
// and on webgpu a relative error of 1e-3. Models that --seconds leaves no time for are named.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { createRuntime } from "@centella/core";
import { quantizeGguf, readGguf } from "@centella/gguf";
import { loadModel } from "@centella/llm";
import { agreement, floatsOf, leastAgreed, leastCosine, relativeError } from "./deviceModels.mjs";

const { values: options, positionals: names } = parseArgs({
  options: {
    folder: { type: "string", default: "../shared/data/archs" },
    model: { type: "string", multiple: true },
    seconds: { type: "string", default: "240" },
  },
  allowPositionals: true,
});
const factories = { cuda: cuda(), webgpu: webgpu(), wasm: wasm() };
/** Largest relative errors: of f32 activations, and of half ones where that is a bar. */
const most = { cuda: { f32: 1e-4 }, wasm: { f32: 1e-4 }, webgpu: { f32: 2e-4, half: 1e-3 } };
const halfRecipes = ["F32", "F16", "Q4_K_M"];
const columns = ["model", "f32 to llama.cpp", "f32", ...halfRecipes.map((recipe) => `half, ${recipe}: error, cosine, same`)];

const started = performance.now();
const isOver = () => performance.now() - started > 1000 * Number(options.seconds);
const tokens = readFileSync(join(options.folder, "ids200.txt"), "utf8")
  .trim()
  .split(/[\s,]+/)
  .map(Number);
const models = readdirSync(options.folder)
  .filter((file) => file.endsWith(".gguf"))
  .map((file) => file.replace(".gguf", ""))
  .filter((name) => options.model?.includes(name) ?? true);
/** Exact logits by model and type of weights. */
const exact = new Map();
let failures = 0;

const reference = await createRuntime({ backends: [] });
for (const name of names) await checkBackend(name);
await reference.dispose();
console.log(`\n${failures === 0 ? "all within the bars" : `${failures} beyond the bars (!)`}, ${secondsSince(started)} s`);
process.exit(Math.min(failures, 100));

async function checkBackend(name) {
  const runtime = await createRuntime({ backends: [factories[name]], policy: { force: name, allowSoftware: true } });
  const [{ backend, unavailable }] = runtime.candidates;
  if (backend === undefined) {
    failures++;
    console.log(`${name}: ${unavailable}`);
    return;
  }
  console.log(`\n${name}: ${backend.device.name}`);
  const rows = [columns];
  const left = [];
  for (const model of models) {
    if (isOver()) left.push(model);
    else rows.push([model, ...(await cellsOf(name, runtime, model))]);
  }
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => (row[i] ?? "").length)));
  for (const row of rows) console.log(row.map((cell, i) => cell.padEnd(widths[i])).join("  "));
  if (left.length > 0) console.log(`no time was left for ${left.join(", ")}`);
  await runtime.dispose();
}

/** The cells of a model's row after its name. */
async function cellsOf(name, runtime, model) {
  const limits = most[name];
  const cells = [];
  try {
    for (const recipe of halfRecipes) {
      const source = await bytesOf(model, recipe);
      const want = await exactLogits(model, recipe, source);
      if (recipe === "F32") {
        const got = await logitsOf(runtime, source, { activations: "f32", cacheType: "f32" });
        const known = floatsOf(readFileSync(join(options.folder, `${model}.logits200.f32`)));
        cells.push(relativeError(got.logits, known).toExponential(1));
        const error = relativeError(got.logits, want.logits);
        cells.push(judged(error.toExponential(1), error <= limits.f32));
      }
      const got = await logitsOf(runtime, source, { activations: "half" });
      const error = relativeError(got.logits, want.logits);
      const { cosine, agreed } = agreement(got.logits, want.logits, want.width);
      const isRight = cosine >= leastCosine && agreed >= leastAgreed * tokens.length && error <= (limits.half ?? Infinity);
      cells.push(judged(`${error.toExponential(1)}, ${cosine.toFixed(6)}, ${agreed} of ${tokens.length}`, isRight));
    }
  } catch (error) {
    cells.push(judged(String(error).slice(0, 120), false));
  }
  return cells;
}

/** A cell, marked where it is beyond a bar. */
function judged(text, isRight) {
  if (!isRight) failures++;
  return isRight ? text : `! ${text}`;
}

async function exactLogits(model, recipe, source) {
  const key = `${model} ${recipe}`;
  if (!exact.has(key)) exact.set(key, await logitsOf(reference, source, { activations: "f32", cacheType: "f32" }));
  return exact.get(key);
}

async function logitsOf(runtime, source, how) {
  await using model = await loadModel(source, { runtime, ...how });
  return { logits: await model.logits(tokens), width: model.info.vocabSize };
}

/** A model's file with weights by a recipe. */
async function bytesOf(model, recipe) {
  const file = new Uint8Array(readFileSync(join(options.folder, `${model}.gguf`)));
  if (recipe === "F32") return file;
  const pieces = [];
  await using opened = await readGguf(file);
  await quantizeGguf({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, opened, recipe, { threads: 1 });
  return new Uint8Array(Buffer.concat(pieces));
}

function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(0);
}
