// Compares decoding with a schema to decoding without, for one sequence and for eight.
//
//   node packages/llm/scripts/formatSpeed.mjs [FILE.gguf] [--backend wasm] [--tokens 96] [--rounds 7] [--warm-up 1]     (needs a build)
//
// Rounds with and without the schema alternate, after as many of each that are not counted as `--warm-up` says. On a GPU, a token takes so
// little time that JavaScript compiles for the first 30 rounds. Prints the medians of tokens per second of all sequences
// together, and the median of the quotients of neighbouring rounds. Without FILE, the embedded model is measured.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRuntime } from "@centella/core";
import { loadModel } from "@centella/llm";

const { values, positionals } = parseArgs({
  options: {
    backend: { type: "string", default: "wasm" },
    tokens: { type: "string", default: "96" },
    rounds: { type: "string", default: "7" },
    "warm-up": { type: "string", default: "1" },
  },
  allowPositionals: true,
});
const file = positionals[0] ?? fileURLToPath(new URL("../../model-fable/models/fable-q4_k_m.gguf", import.meta.url));
const maxTokens = Number(values.tokens);
const warmUp = Number(values["warm-up"]);
const person = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 40 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    tags: { type: "array", items: { enum: ["old", "young", "quick", "wise"] }, minItems: 1, maxItems: 3 },
    story: { type: "string", minLength: 60, maxLength: 400 },
  },
  required: ["name", "age", "tags", "story"],
  additionalProperties: false,
};
const format = { schema: { type: "array", items: person, minItems: 20 } };

const backends = await import(`@centella/backend-${values.backend}`);
await using runtime = await createRuntime({ backends: [backends[values.backend]()], policy: { force: values.backend } });
await using model = await loadModel(file, { runtime, sequences: 8, contextLength: 1024 });
const kinds = {
  free: { ignoreEos: true },
  schema: { format },
  "schema without jump-forward": { format, jumpForward: false },
};
for (const sequences of [1, 8]) {
  const rates = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
  for (let round = -warmUp; round < Number(values.rounds); round++) {
    for (const [name, options] of Object.entries(kinds)) {
      const rate = await tokensPerSecond(sequences, options);
      if (round >= 0) rates[name].push(rate);
    }
  }
  for (const [name, list] of Object.entries(rates)) {
    const quotient = median(list.map((rate, i) => rate / rates.free[i]));
    console.log(`${sequences} sequences, ${name}: ${median(list).toFixed(1)} tokens/s, ${quotient.toFixed(3)} of free`);
  }
}

async function tokensPerSecond(sequences, options) {
  const start = performance.now();
  const finishes = await Promise.all(
    Array.from({ length: sequences }, async (_, i) => {
      const session = model.createSession();
      const finish = await session.complete(`Tell me ${i} stories of a fox.`, {
        temperature: 0,
        repeatPenalty: 1,
        maxTokens,
        seed: i,
        ...options,
      });
      session.dispose();
      return finish;
    }),
  );
  const tokens = finishes.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return (1000 * tokens) / (performance.now() - start);
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
