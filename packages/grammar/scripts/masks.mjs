// Measures vocabularies, compilation and masks, and prints the figures.
//
//   node --conditions=@centella/source packages/grammar/scripts/masks.mjs [--vocabulary llama-bpe] [--every 1] [--slow 10] [--rounds 1]
//
// Every schema of the MaskBench sample is compiled for a real vocabulary. Its valid instances are cut into tokens, always the longest that
// fits, and the mask is computed before every token, so most states are new when they are asked for. `--every n` takes every n-th schema,
// `--slow n` lists the n slowest masks and compilations. With `--rounds n` everything is done n times from the beginning and the fastest of
// the n times counts, which leaves out most of what other work on the machine adds. Both kinds of data are read from $CENTELLA_SHARED (default: ../shared).
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
    rounds: { type: "string", default: "1" },
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
  const rounds = Array.from({ length: Number(values.rounds) }, (_, round) => once(schema, tests, round));
  if (rounds[0] === undefined) return;
  const fastest = (of) => Math.min(...rounds.map(of));
  compilations.push({ ms: fastest(({ ms }) => ms), what: name });
  for (const [i, { what }] of rounds[0].masks.entries())
    masks.push({ ms: fastest((round) => round.masks[i]?.ms ?? Infinity), what: `${name}: ${what}` });
  if (rounds.some(({ isOver }) => isOver)) failures.push(name);
}

/** One compilation, and the masks before every token of all valid instances. Undefined for a schema that is refused. */
function once(schema, tests, round) {
  const result = { ms: 0, masks: [], isOver: false };
  let constraint;
  try {
    // Constraints are kept by grammar and budget: another budget makes another one.
    const budget = { steps: 4e6 + round };
    const compiled = timed(() => compile(fromJsonSchema(schema, { whitespace: "any" }), vocabulary, { budget }));
    result.ms = compiled.ms;
    constraint = compiled.result;
  } catch {
    return undefined;
  }
  try {
    for (const { data, valid } of tests) if (valid) follow(constraint.matcher(), JSON.stringify(data), result.masks);
  } catch (error) {
    if (error.code !== "GRAMMAR_BUDGET") throw error;
    result.isOver = true;
  }
  return result;
}

function follow(matcher, text, found) {
  const mask = new Uint32Array(vocabulary.maskWords);
  let forced = 0;
  for (const id of tokenized(text)) {
    const { ms } = timed(() => matcher.mask(mask));
    found.push({ ms, what: `before ${JSON.stringify(Buffer.from(tokens.bytes[id]).toString())}` });
    if (forced === 0) forced = matcher.forced().length;
    tokenCount++;
    const { length } = tokens.bytes[id];
    if (length <= forced) forcedCount++;
    forced = Math.max(0, forced - length);
    if (((mask[id >> 5] >> (id & 31)) & 1) !== Number(matcher.accept(id)))
      throw new Error(`mask and accept differ on token ${id} of ${text}`);
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
