// Measures vocabularies, compilation and masks, and prints the figures.
//
//   node --conditions=@centella/source packages/grammar/scripts/masks.mjs [--vocabulary llama-bpe] [--every 1] [--slow 10]
//
// Every schema of the MaskBench sample is compiled for a real vocabulary. Its valid instances are cut into tokens, always the longest that
// fits, and the mask is computed before every token, so most states are new when they are asked for. `--every n` takes every n-th schema,
// `--slow n` lists the n slowest masks and compilations. Both kinds of data are read from $CENTELLA_SHARED (default: ../shared).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compile, fromJsonSchema } from "@centella/grammar";
import { tokensOf, vocabularyOf } from "../test/ggmlVocabulary.ts";

const { values } = parseArgs({
  options: {
    vocabulary: { type: "string", default: "llama-bpe" },
    every: { type: "string", default: "1" },
    slow: { type: "string", default: "0" },
  },
});
const root = join(process.env.CENTELLA_SHARED ?? join(import.meta.dirname, "../../../../shared"), "data/schemas");
const tokens = await tokensOf(values.vocabulary);
const vocabularies = Array.from({ length: 5 }, () => timed(() => vocabularyOf(tokens)));
const vocabulary = vocabularies[0].result;
const ids = new Map(tokens.bytes.map((bytes, id) => [Buffer.from(bytes).toString("latin1"), id]));
for (const id of [...tokens.endIds, ...tokens.specialIds]) ids.delete(Buffer.from(tokens.bytes[id]).toString("latin1"));

const [compilations, masks] = [[], []];
const failures = [];
let tokenCount = 0;
let forcedCount = 0;
const schemas = readFileSync(join(root, "maskbench-sample.jsonl"), "utf8").trim().split("\n");
for (let i = 0; i < schemas.length; i += Number(values.every)) measure(JSON.parse(schemas[i]));

console.log(`vocabulary: ${vocabularies.map(({ ms }) => ms.toFixed(0)).join(", ")} ms for ${vocabulary.size} tokens`);
console.log(
  `compilation, with the schema's translation: ${quantiles(compilations.map(({ ms }) => ms))} ms, ${compilations.length} schemas`,
);
console.log(`mask: ${quantiles(masks.map(({ ms }) => ms * 1000))} µs, ${masks.length} masks`);
console.log(`over the budget: ${failures.length}${failures.map((name) => ` ${name}`).join()}`);
console.log(`tokens in forced runs: ${((100 * forcedCount) / tokenCount).toFixed(1)} %`);
for (const list of [compilations, masks]) {
  const slowest = list.toSorted((a, b) => b.ms - a.ms).slice(0, Number(values.slow));
  for (const { ms, what } of slowest) console.log(`${ms.toFixed(2)} ms: ${what}`);
}

function measure({ name, schema, tests }) {
  let compiled;
  try {
    compiled = timed(() => compile(fromJsonSchema(schema, { whitespace: "any" }), vocabulary));
  } catch {
    return;
  }
  compilations.push({ ms: compiled.ms, what: name });
  const mask = new Uint32Array(vocabulary.maskWords);
  for (const { data, valid } of tests) {
    if (!valid) continue;
    try {
      follow(name, compiled.result.matcher(), JSON.stringify(data), mask);
    } catch (error) {
      if (error.code !== "GRAMMAR_BUDGET") throw error;
      failures.push(name);
      return;
    }
  }
}

function follow(name, matcher, text, mask) {
  let forced = 0;
  for (const id of tokenized(text)) {
    const { ms } = timed(() => matcher.mask(mask));
    masks.push({ ms, what: `${name}: before ${JSON.stringify(Buffer.from(tokens.bytes[id]).toString())}` });
    if (forced === 0) forced = matcher.forced().length;
    tokenCount++;
    const { length } = tokens.bytes[id];
    if (length <= forced) forcedCount++;
    forced = Math.max(0, forced - length);
    if (((mask[id >> 5] >> (id & 31)) & 1) !== Number(matcher.accept(id)))
      throw new Error(`${name}: mask and accept differ on token ${id}`);
    if (matcher.isDead) return;
  }
}

function* tokenized(text) {
  const bytes = Buffer.from(text).toString("latin1");
  for (let i = 0; i < bytes.length; ) {
    let length = Math.min(64, bytes.length - i);
    while (length > 1 && !ids.has(bytes.slice(i, i + length))) length--;
    yield ids.get(bytes.slice(i, i + length));
    i += length;
  }
}

function timed(run) {
  const start = performance.now();
  const result = run();
  return { result, ms: performance.now() - start };
}

function quantiles(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(2);
  return `p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}`;
}
