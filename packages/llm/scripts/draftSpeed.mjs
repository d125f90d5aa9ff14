// Measures drafts: the speed of greedy texts with and without, the share of drafted tokens that are accepted, and the time of runs.
//
//   node --conditions=@centella/source packages/llm/scripts/draftSpeed.mjs [--model FILE] [--draft FILE] [--threads 4] [--rounds 5] [--temperature 0]
//
// Default: Fable on WASM, drafted by Fable tiny. Texts with drafts of 0 to 4 tokens take turns, so that other work on the machine meets all of
// them. Times are medians.
import { parseArgs } from "node:util";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "../src/index.ts";
import { Scheduler } from "../src/scheduler/scheduler.ts";

const fable = (name) => new URL(`../../model-fable/models/${name}.gguf`, import.meta.url);
const { values } = parseArgs({
  options: {
    model: { type: "string" },
    draft: { type: "string" },
    threads: { type: "string" },
    rounds: { type: "string", default: "5" },
    temperature: { type: "string", default: "0" },
  },
});
const subjects = [
  "a little fox who wanted to see the sea",
  "a king and his three daughters",
  "a clever tailor",
  "an old witch in the wood",
  "two brothers and a golden bird",
  "a mouse and a cat",
  "a poor fisherman",
];
const lengths = [0, 1, 2, 3, 4];

/** Milliseconds of runs by model and number of tokens. */
const runs = new Map();
const { feedChoosing } = Scheduler.prototype;
Scheduler.prototype.feedChoosing = async function (sequence, ids, ...rest) {
  const start = performance.now();
  const tokens = await feedChoosing.call(this, sequence, ids, ...rest);
  const ofModel = runs.get(this) ?? new Map();
  runs.set(this, ofModel);
  ofModel.set(ids.length, [...(ofModel.get(ids.length) ?? []), performance.now() - start]);
  return tokens;
};

const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];
const threads = values.threads === undefined ? {} : { threads: Number(values.threads) };
const runtime = await createRuntime({ backends: [wasm(threads)], policy: { force: "wasm" } });
const model = await loadModel(values.model ?? fable("fable-q4_k_m"), {
  runtime,
  draft: { source: values.draft ?? fable("fable-tiny-q8_0"), tokens: lengths.at(-1) },
});
const results = new Map(lengths.map((length) => [length, { ms: [], drafted: 0, accepted: 0 }]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const subject of subjects) {
    const prompt = [{ role: "user", content: `Tell me a story about ${subject}.` }];
    const texts = new Set();
    for (const draftTokens of lengths) {
      const options = { temperature: Number(values.temperature), repeatPenalty: 1, seed: 1, maxTokens: 200, ignoreEos: true, draftTokens };
      const { text, usage, timings } = await model.createSession().complete(prompt, options);
      const result = results.get(draftTokens);
      result.ms.push(timings.decodeMs);
      result.drafted += usage.draftedTokens;
      result.accepted += usage.acceptedTokens;
      texts.add(text);
    }
    if (texts.size > 1) throw new Error(`drafts changed the text about ${subject}`);
  }
}

const sum = (all) => all.reduce((a, b) => a + b, 0);
const plain = sum(results.get(0).ms);
console.log("| tokens | speed | accepted |\n| --- | --- | --- |");
for (const [length, { ms, drafted, accepted }] of results) {
  const share = length === 0 ? "" : `${((100 * accepted) / drafted).toFixed(0)} %`;
  console.log(`| ${length} | ${(plain / sum(ms)).toFixed(2)} × | ${share} |`);
}
console.log("\n| run | ms | of a run with one token |\n| --- | --- | --- |");
const [target, draft] = [...runs.values()];
const one = median(target.get(1));
const row = (name, ms) => console.log(`| ${name} | ${ms.toFixed(3)} | ${(ms / one).toFixed(2)} |`);
row("draft model, 1 token", median(draft.get(1)));
for (const length of lengths) row(`model, ${length + 1} tokens`, median(target.get(length + 1)));
await model.dispose();
await runtime.dispose();
