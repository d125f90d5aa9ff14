// Compares @centella/grammar with its peers on npm, on the same schemas, vocabulary and tokens, and prints a Markdown table.
//
//   node --conditions=@centella/source apps/bench/peers/grammar.mjs [SCHEMAS] [FOLDER]
//
// The peers are installed into FOLDER (default: a temporary one) unless they are there. Schemas and vocabulary are read from $CENTELLA_SHARED/data
// (default: ../shared next to the repository): every n-th schema of the MaskBench sample, SCHEMAS (default 100) in all, and the vocabulary of
// Llama 3. Each instance is written by JSON.stringify, cut into tokens by the tokenizer, and fed token by token. A mask is computed before each
// token. What an engine does for one schema stops after 20 s. node-llama-cpp tells only whether a token may follow, and only of a model with
// weights, so it reads the tokens of the embedded model, and the time of each answer is given in place of a mask's.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readGguf } from "@centella/gguf";
import { compile, fromJsonSchema, vocabulary } from "@centella/grammar";
import { createTokenizer } from "@centella/llm";

const peers = [
  "@mlc-ai/web-xgrammar@0.1.27",
  "@huggingface/transformers-structured-output@4.3.0",
  "node-llama-cpp@3.22.1",
  `@node-llama-cpp/${process.platform}-${process.arch}@3.22.1`,
];
const [count = "100", folder = mkdtempSync(join(tmpdir(), "grammar-peers-"))] = process.argv.slice(2);
if (!existsSync(join(folder, "node_modules")))
  execFileSync("npm", ["install", "--ignore-scripts", "--legacy-peer-deps", "--omit=optional", "--prefix", folder, ...peers], {
    stdio: "ignore",
  });
const data = join(process.env.CENTELLA_SHARED ?? resolve(import.meta.dirname, "../../../../shared"), "data");
const scratch = mkdtempSync(join(tmpdir(), "grammar-peers-"));
const secondsPerSchema = 20;
const controlType = 3;

/** The vocabulary of Llama 3, in the forms that the engines take. */
async function loadVocabulary() {
  const { metadata } = await readGguf(join(data, "vocab/ggml-vocab-llama-bpe.gguf"));
  const tokenizer = createTokenizer(metadata);
  const pieces = [...metadata.get("tokenizer.ggml.tokens")];
  const types = [...metadata.get("tokenizer.ggml.token_type")];
  const specialIds = types.flatMap((type, id) => (type === controlType ? [id] : []));
  const bytes = pieces.map((_, id) => tokenizer.tokenBytes(id));
  return { tokenizer, pieces, bytes, specialIds, endId: tokenizer.eosId };
}

function loadCases(tokenizer) {
  const lines = readFileSync(join(data, "schemas/maskbench-sample.jsonl"), "utf8").trim().split("\n");
  const step = Math.max(1, Math.floor(lines.length / Number(count)));
  return lines
    .filter((_, i) => i % step === 0)
    .slice(0, Number(count))
    .map((line) => {
      const { schema, tests } = JSON.parse(line);
      return {
        schema,
        tests: tests.map(({ data, valid }) => {
          const text = JSON.stringify(data);
          return { text, ids: [...tokenizer.encode(text, { addSpecial: false, parseSpecial: false })], valid };
        }),
      };
    });
}

/**
 * An engine: `prepare` reads the vocabulary, `compile` a schema, and `start` begins a text. `compile` throws for a schema that is refused.
 * A text has a `mask`, or `allows` tells of a single token; `encode` cuts a text into the engine's own tokens, with those that end it.
 */
const engines = {
  "@centella/grammar": () => ({
    prepare: ({ bytes, endId, specialIds }) => vocabulary(bytes, { endIds: [endId], specialIds }),
    compile: (prepared, schema) => compile(fromJsonSchema(schema), prepared),
    start: (prepared, constraint) => {
      const matcher = constraint.matcher();
      const mask = new Uint32Array(prepared.maskWords);
      const next = () => {
        matcher.mask(mask);
        return mask;
      };
      return { mask: next, accept: (id) => matcher.accept(id) };
    },
  }),

  "@mlc-ai/web-xgrammar": () => {
    // The package says "type": "module" and has a UMD file, which only `require` reads.
    const file = join(scratch, "xgrammar.cjs");
    cpSync(join(folder, "node_modules/@mlc-ai/web-xgrammar/lib/index.js"), file);
    const { TokenizerInfo, GrammarCompiler, GrammarMatcher } = createRequire(import.meta.url)(file);
    return {
      prepare: async ({ pieces, endId }) => {
        const info = await TokenizerInfo.createTokenizerInfo(pieces, "byte_level", false, pieces.length, [endId]);
        return GrammarCompiler.createGrammarCompiler(info, false);
      },
      compile: (compiler, schema) => compiler.compileJSONSchema(JSON.stringify(schema), true, undefined, undefined, false),
      start: async (_, compiled) => {
        const matcher = await GrammarMatcher.createGrammarMatcher(compiled);
        return { mask: () => matcher.getNextTokenBitmask(), accept: (id) => matcher.acceptToken(id), end: () => matcher.dispose() };
      },
      release: (_, compiled) => compiled.dispose(),
    };
  },

  "@huggingface/transformers-structured-output": async () => {
    // Only the class for Transformers.js is exported, which needs that package; the engine below it needs nothing.
    const { rolldown } = await import("rolldown");
    const bundle = await rolldown({ input: join(folder, "node_modules/@huggingface/transformers-structured-output/src/engine/index.ts") });
    const file = join(scratch, "structuredOutput.mjs");
    writeFileSync(file, (await bundle.generate()).output[0].code);
    const { createTokenConstraint, prepareTokenizer } = await import(pathToFileURL(file).href);
    return {
      prepare: ({ bytes, endId, specialIds }) => {
        const source = { tokens: bytes, eos_token_id: endId, special_token_ids: specialIds };
        prepareTokenizer(source);
        return source;
      },
      compile: (source, schema) => ({ schema, first: createTokenConstraint(source, { type: "json_schema", json_schema: schema }) }),
      start: (source, { schema }) => {
        const constraint = createTokenConstraint(source, { type: "json_schema", json_schema: schema });
        const mask = new Uint32Array(Math.ceil(constraint.vocabSize / 32));
        const next = () => {
          constraint.fillMask(mask);
          return mask;
        };
        return { mask: next, accept: (id) => constraint.commit(id) };
      },
    };
  },

  "node-llama-cpp": async () => {
    const { getLlama, LlamaGrammarEvaluationState } = await import(
      pathToFileURL(join(folder, "node_modules/node-llama-cpp/dist/index.js")).href
    );
    const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: "error" });
    const model = await llama.loadModel({
      modelPath: resolve(import.meta.dirname, "../../../packages/model-fable/models/fable-q4_k_m.gguf"),
    });
    const { AddonSampler } = llama._bindings;
    return {
      prepare: () => model,
      compile: (_, schema) => llama.createGrammarForJsonSchema(schema),
      // Its grammars end with four line feeds, which it removes.
      encode: (text) => [...model.tokenize(text), ...model.tokenize("\n\n\n\n"), model.tokens.eos],
      start: (_, grammar) => {
        const state = new LlamaGrammarEvaluationState({ model, grammar })._state;
        return {
          allows: (id) => AddonSampler.canBeNextTokenForGrammarEvaluationState(state, id),
          accept: (id) => AddonSampler.acceptGrammarEvaluationStateToken(state, id),
        };
      },
    };
  },
};

const isSet = (mask, id) => ((mask[id >> 5] >>> (id & 31)) & 1) === 1;

/** Feeds the tokens of one instance. Returns whether the engine accepts the whole text. */
async function feed(engine, prepared, compiled, { ids, deadline }, times) {
  const matcher = await engine.start(prepared, compiled);
  try {
    for (const [i, id] of ids.entries()) {
      const start = performance.now();
      const isAllowed = matcher.allows?.(id) ?? isSet(await matcher.mask(), id);
      times.push(performance.now() - start);
      if (performance.now() > deadline) throw new Error("too slow");
      if (!isAllowed) return false;
      if (i < ids.length - 1) matcher.accept(id);
    }
    return true;
  } finally {
    matcher.end?.();
  }
}

async function measure(name, cases, words) {
  const engine = await engines[name]();
  const start = performance.now();
  const prepared = await engine.prepare(words);
  const result = {
    name,
    preparation: performance.now() - start,
    compiles: [],
    masks: [],
    refused: 0,
    stopped: 0,
    right: 0,
    accepted: 0,
    invalid: 0,
  };
  for (const { schema, tests } of cases) {
    const begin = performance.now();
    try {
      const compiled = await engine.compile(prepared, schema);
      result.compiles.push(performance.now() - begin);
      await judge(engine, prepared, compiled, tests, { ...words, deadline: begin + 1000 * secondsPerSchema }, result);
      engine.release?.(prepared, compiled);
    } catch (error) {
      if (error.message === "too slow") result.stopped++;
      else result.refused++;
    }
  }
  return result;
}

async function judge(engine, prepared, compiled, tests, { endId, deadline }, result) {
  let isRight = true;
  for (const { text, ids, valid } of tests) {
    const cut = engine.encode?.(text) ?? [...ids, endId];
    const isAccepted = await feed(engine, prepared, compiled, { ids: cut, deadline }, result.masks);
    if (isAccepted !== valid) isRight = false;
    if (!valid) result.invalid++;
    if (!valid && isAccepted) result.accepted++;
  }
  if (isRight) result.right++;
}

/** Milliseconds as text with three digits. */
const shown = (milliseconds) => (milliseconds === undefined ? "—" : Number(milliseconds.toPrecision(3)).toString());

function quantiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.5, 0.99, 1].map((share) => shown(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))])).join(" / ");
}

const words = await loadVocabulary();
const cases = loadCases(words.tokenizer);
console.log(`${cpus()[0].model.trim()}, Node ${process.versions.node}, ${cases.length} schemas, ${words.pieces.length} tokens\n`);
console.log(
  "| engine | vocabulary, ms | compiled | all verdicts right | wrongly accepted | stopped | compile p50 / p99 / max, ms | mask p50 / p99 / max, ms |",
);
console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
for (const name of Object.keys(engines)) {
  const { preparation, compiles, masks, refused, stopped, right, accepted, invalid } = await measure(name, cases, words);
  const cells = [
    name,
    shown(preparation),
    cases.length - refused,
    right,
    `${accepted} of ${invalid}`,
    stopped,
    quantiles(compiles),
    quantiles(masks),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
