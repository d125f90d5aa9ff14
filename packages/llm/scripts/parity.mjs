// Writes docs/parity.md: how far the logits of each architecture are from llama.cpp's, by backend and type of the weights.
//
//   node --conditions=@centella/source packages/llm/scripts/parity.mjs [--backends reference,wasm,webgpu,cuda] [--seconds N] [NAME …]
//   node --conditions=@centella/source packages/llm/scripts/parity.mjs --take FILE [--take FILE …]
//
// Distances of all runs are in docs/parity.json. A run replaces those of the models that it computes: all, or those of the architectures that are
// named. --seconds N starts no further model after N seconds, and leaves out those with a distance from the same commit: for backends without a GPU,
// which take seconds for a model. --take takes in distances that checkDevice.mjs has written on a device.
//
// The models are those of test/fixtures/families, and of $CENTELLA_SHARED/data/archs (default: ../shared) where it exists. Quantized ones are
// written by quantizeGguf and compared with test/fixtures/quantized.json. WebGPU is SwiftShader unless there is a GPU, and CUDA the interpreter of PTX.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, reference } from "@centella/core";
import { quantizeGguf, readGguf } from "@centella/gguf";
import { loadModel } from "../src/index.ts";
import { asLlamaCpp, familyError, modelOfFamily, quantizedError } from "../test/familyError.ts";
import { familyGoldens, floats, readFamilyGolden } from "../test/familyFixture.ts";
import { interpreted, software } from "../test/gpus.ts";
import { relativeError } from "../test/vectors.ts";
import { parityPage } from "./parityPage.mjs";

const { values: options, positionals: wanted } = parseArgs({
  options: {
    backends: { type: "string", default: "reference,wasm" },
    seconds: { type: "string", default: "Infinity" },
    take: { type: "string", multiple: true, default: [] },
  },
  allowPositionals: true,
});
const root = join(import.meta.dirname, "../../..");
const shared = join(process.env.CENTELLA_SHARED ?? join(root, "../shared"), "data/archs");
const quantized = JSON.parse(readFileSync(new URL("../test/fixtures/quantized.json", import.meta.url), "utf8"));
const stored = join(root, "docs/parity.json");
const data = existsSync(stored) ? JSON.parse(readFileSync(stored, "utf8")) : { oracle: "", models: {}, runs: [] };
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const date = new Date().toISOString().slice(0, 10);

const types = ["F32", "Q8_0", "Q4_K_M"];
const backends = {
  reference: { factory: reference(), types },
  wasm: { factory: wasm(), types },
  webgpu: { factory: software, types: ["F32"] },
  cuda: { factory: interpreted, types: ["F32"] },
};

/** Models with their distances to what llama.cpp computes, by type; rerankers are compared by their own test. */
function* models() {
  for (const name of familyGoldens) {
    const golden = readFamilyGolden(name);
    if (golden.ranked !== undefined) continue;
    const distance = (model, type) => (type === "F32" ? familyError(model, golden) : quantizedError(model, golden, quantized[name][type]));
    yield { name, oracle: golden.oracle, bytes: modelOfFamily(golden), distance };
  }
  for (const file of existsSync(shared) ? readdirSync(shared).filter((each) => each.endsWith(".gguf")) : []) {
    const name = `archs/${file.slice(0, -".gguf".length)}`;
    const ids = Array.from({ length: 12 }, (_, i) => i + 1);
    const logits = (type) =>
      type === "F32"
        ? new Float32Array(Uint8Array.from(readFileSync(join(shared, file.replace(".gguf", ".logits.f32")))).buffer)
        : floats(quantized[name][type]);
    const distance = async (model, type) => {
      const expected = logits(type);
      return relativeError((await model.logits(ids)).slice(-expected.length), expected);
    };
    yield { name, bytes: readFileSync(join(shared, file)), distance };
  }
}

async function quantize(bytes, recipe) {
  const pieces = [];
  await using file = await readGguf(bytes);
  await quantizeGguf({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, file, recipe, { threads: 1 });
  return Buffer.concat(pieces);
}

/** The run of a backend, a type and a device, without distances if there was none. */
function runOf({ backend, type, device }) {
  const known = data.runs.find((run) => run.backend === backend && run.type === type && run.device === device);
  if (known !== undefined) return known;
  const run = { backend, type, ...(device && { device }), distances: {} };
  data.runs.push(run);
  return run;
}

async function compute(backend) {
  const { factory, types: ofBackend } = backends[backend];
  await using runtime = await createRuntime({ backends: [factory], policy: { force: backend } });
  const isHost = backend === "reference" || backend === "wasm";
  const device = isHost ? undefined : deviceName(runtime.candidates[0].backend.device.name);
  const start = performance.now();
  for (const { name, oracle, bytes, distance } of models()) {
    await using file = await readGguf(bytes);
    data.models[name] = file.metadata.string("general.architecture");
    if (oracle !== undefined) data.oracle = oracle;
    if (wanted.length > 0 && !wanted.includes(data.models[name])) continue;
    for (const type of ofBackend) {
      if (type !== "F32" && quantized[name]?.[type] === undefined) continue;
      const run = runOf({ backend, type, device });
      const isKnown = run.commit === commit && name in run.distances;
      if (Number.isFinite(Number(options.seconds)) && (isKnown || performance.now() - start > options.seconds * 1000)) continue;
      await using model = await loadModel(type === "F32" ? bytes : await quantize(bytes, type), { runtime, ...asLlamaCpp });
      run.distances[name] = rounded(await distance(model, type));
      Object.assign(run, { date, commit });
      console.log(backend, type, name, run.distances[name]);
    }
    save();
  }
}

/** How the page names a device. */
function deviceName(name) {
  return /swiftshader/i.test(name) ? "SwiftShader" : name;
}

/** Takes in what checkDevice.mjs has written. */
function take(path) {
  const { backend, device, date, commit, distances } = JSON.parse(readFileSync(path, "utf8"));
  const run = runOf({ backend, type: "F32", device: backend === "wasm" || backend === "reference" ? undefined : deviceName(device) });
  for (const [name, distance] of Object.entries(distances)) if (name in data.models) run.distances[name] = rounded(distance);
  Object.assign(run, { date, commit });
}

function rounded(distance) {
  return Number(distance.toPrecision(3));
}

function save() {
  const sorted = (entries) => Object.fromEntries(Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const runs = data.runs.map((run) => ({ ...run, distances: sorted(run.distances) }));
  writeFileSync(stored, `${JSON.stringify({ ...data, models: sorted(data.models), runs }, null, 2)}\n`);
}

for (const path of options.take) take(path);
if (options.take.length === 0) for (const backend of options.backends.split(",")) await compute(backend);
save();
writeFileSync(join(root, "docs/parity.md"), await parityPage(data));
