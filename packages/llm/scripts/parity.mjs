// Writes docs/parity.md: how far the logits of each architecture are from llama.cpp's, by backend and type of the weights.
//
//   node --conditions=@centella/source packages/llm/scripts/parity.mjs [--backends reference,wasm,webgpu,cuda] [ARCHITECTURE …]
//
// With names of architectures, the rows of all others stay as they are.
//
// The models are those of test/fixtures/families, and of $CENTELLA_SHARED/data/archs (default: ../shared) where it exists. Quantized ones are
// written by quantizeGguf and compared with test/fixtures/quantized.json. WebGPU is SwiftShader unless there is a GPU, and CUDA the interpreter of
// PTX, which take seconds for a model: they compute the sample below.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, reference } from "@centella/core";
import { quantizeGguf, readGguf } from "@centella/gguf";
import { loadModel, refusedArchitectures, supportedArchitectures } from "../src/index.ts";
import { decodedText, expectedLogprobs } from "../test/decodedText.ts";
import { familyGoldens, familyModel, floats, readFamilyGolden, withVocabulary } from "../test/familyFixture.ts";
import { interpreted, software } from "../test/gpus.ts";
import { relativeError } from "../test/modelFiles.ts";

const { values, positionals: wanted } = parseArgs({
  options: { backends: { type: "string", default: "reference,wasm,webgpu,cuda" } },
  allowPositionals: true,
});
const root = join(import.meta.dirname, "../../..");
const shared = join(process.env.CENTELLA_SHARED ?? join(root, "../shared"), "data/archs");
const quantized = JSON.parse(readFileSync(new URL("../test/fixtures/quantized.json", import.meta.url), "utf8"));

const types = ["F32", "Q8_0", "Q4_K_M"];
const backends = {
  reference: { factory: reference(), types },
  wasm: { factory: wasm(), types },
  webgpu: { factory: software, types: ["F32"], sample: ["deepseek2", "gpt-oss", "jamba", "lfm2", "mamba2", "qwen35moe"] },
  cuda: { factory: interpreted, types: ["F32"], sample: ["llama-moe", "mamba"] },
};

/** The pooled states of an encoder. */
const embedding = (ids) => async (model) => (await model.embed([{ ids }], { pooling: "mean", normalize: false }))[0];

/** Models with what llama.cpp computes: logits of every position, the embedding of an encoder, or what a decoder generates. */
function* models() {
  for (const name of familyGoldens) {
    const golden = readFamilyGolden(name);
    const { ids, logits, mean, text, oracle } = golden;
    const bytes = familyModel(text === undefined ? golden : withVocabulary(golden, "t5"));
    if (logits !== undefined) yield { name, oracle, bytes, compute: (model) => model.logits(ids), expected: floats(logits) };
    else if (mean !== undefined) yield { name, oracle, bytes, compute: embedding(ids), expected: floats(mean) };
    else if (text !== undefined) {
      const compute = async (model) => (await decodedText(model, golden)).logprobs;
      yield { name, oracle, bytes, compute, expected: expectedLogprobs(golden) };
    }
    // Scores of rerankers are compared by their own test.
  }
  for (const file of existsSync(shared) ? readdirSync(shared).filter((each) => each.endsWith(".gguf")) : []) {
    const bytes = readFileSync(join(shared, file));
    const logits = readFileSync(join(shared, file.replace(".gguf", ".logits.f32")));
    const ids = Array.from({ length: 12 }, (_, i) => i + 1);
    const expected = new Float32Array(Uint8Array.from(logits).buffer);
    yield { name: `archs/${file.slice(0, -".gguf".length)}`, bytes, compute: (model) => model.logits(ids), expected };
  }
}

async function quantize(bytes, recipe) {
  const pieces = [];
  await using file = await readGguf(bytes);
  await quantizeGguf({ write: async (piece) => void pieces.push(Uint8Array.from(piece)) }, file, recipe, { threads: 1 });
  return Buffer.concat(pieces);
}

/** Distance of a model of this type of weights; undefined if there is nothing to compare with. */
async function distance(runtime, { name, bytes, compute, expected }, type) {
  const last = quantized[name]?.[type];
  if (type !== "F32" && last === undefined) return undefined;
  const source = type === "F32" ? bytes : await quantize(bytes, type);
  await using model = await loadModel(source, { runtime, cacheType: "f32", ...(type !== "F32" && { activations: "ggml" }) });
  const values = await compute(model);
  return type === "F32" ? relativeError(values, expected) : relativeError(values.slice(-floats(last).length), floats(last));
}

const columns = Object.entries(backends).flatMap(([backend, { types: ofBackend }]) => ofBackend.map((type) => `${backend} ${type}`));
const page = join(root, "docs/parity.md");
/** Number of models, and their distances by backend and type, by architecture. */
const rows = new Map(supportedArchitectures.toSorted().map((name) => [name, { models: 0, distances: new Map() }]));
for (const [, name, models, cells] of wanted.length === 0 ? [] : readFileSync(page, "utf8").matchAll(/^\| `(.+)` \| (\d+) \| (.+) \|$/gm)) {
  if (wanted.includes(name) || !rows.has(name)) continue;
  const distances = cells.split(" | ").flatMap((text, i) => (text === "–" ? [] : [[columns[i], Number(text)]]));
  rows.set(name, { models: Number(models), distances: new Map(distances) });
}
const oracles = new Set();
for (const model of models()) {
  const file = await readGguf(model.bytes);
  const architecture = file.metadata.string("general.architecture");
  if (model.oracle !== undefined) oracles.add(model.oracle);
  if (wanted.length > 0 && !wanted.includes(architecture)) continue;
  const row = rows.get(architecture);
  row.models++;
  for (const backend of values.backends.split(",")) {
    const { factory, types: ofBackend, sample } = backends[backend];
    if (sample !== undefined && !sample.includes(model.name)) continue;
    await using runtime = await createRuntime({ backends: [factory], policy: { force: backend } });
    for (const type of ofBackend) {
      const value = await distance(runtime, model, type);
      const key = `${backend} ${type}`;
      if (value !== undefined) row.distances.set(key, Math.max(value, row.distances.get(key) ?? 0));
    }
  }
  console.log(model.name, Object.fromEntries(row.distances));
}

const cell = (value) => (value === undefined ? "–" : value.toExponential(1));
const line = (cells) => `| ${cells.join(" | ")} |`;
const all = [...rows.values()];
const greatest = (column) => Math.max(...all.map(({ distances }) => distances.get(column) ?? 0));
const count = (column) => all.filter(({ distances }) => distances.has(column)).length;
const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const refused = await refusedArchitectures();
const lines = [
  "# Distance to llama.cpp",
  "",
  `Last written by \`node --conditions=@centella/source packages/llm/scripts/parity.mjs\` on ${new Date().toISOString().slice(0, 10)}, from commit`,
  `${git("rev-parse", "--short", "HEAD")}. A run for some architectures leaves the other rows as they are. Compared with ${[...oracles].join("; ")}.`,
  "",
  "A distance is `‖ours − llama.cpp's‖ / ‖llama.cpp's‖` over the logits of a prompt, the embedding of an encoder or the log probabilities of a",
  "decoder, and the greatest one of the architecture's models. All models are tiny and have random weights. The cache is f32.",
  "",
  "Quantized weights are those of `quantizeGguf`, with the recipe's types for each tensor, and activations are rounded as in llama.cpp",
  '(`activations: "ggml"`). Most of these models have rows of 32 elements, for which Q4_K_M is a mix of Q5_0 and Q8_0. WebGPU is SwiftShader and',
  "CUDA the interpreter of PTX, which compute a sample.",
  "*–*: not run on this backend, or nothing to compare with.",
  "",
  "With quantized weights, distances are about 1e-7, or 1e-4 to 1e-2. In the latter models, an activation is halfway between two 8-bit codes, or between",
  "two f16 values where rows are no multiple of 32, and the last bit of an f32 decides which one is taken. The scalar reference and WASM add in another",
  "order, and differ as much from each other on such models, as on `llama` and `rwkv6`.",
  "",
  "| | architectures | greatest distance |",
  "| --- | ---: | ---: |",
  ...columns
    .filter((column) => count(column) > 0)
    .map((column) => line([column, `${count(column)} of ${rows.size}`, cell(greatest(column))])),
  "",
  line(["architecture", "models", ...columns]),
  line(["---", "---:", ...columns.map(() => "---:")]),
  ...[...rows].map(([name, { models: number, distances }]) =>
    line([`\`${name}\``, number, ...columns.map((column) => cell(distances.get(column)))]),
  ),
  "",
  "## Architectures of llama.cpp that are refused",
  "",
  "| architecture | reason |",
  "| --- | --- |",
  ...[...refused].map(([name, reason]) => line([`\`${name}\``, reason])),
  "",
];
writeFileSync(page, lines.join("\n"));
