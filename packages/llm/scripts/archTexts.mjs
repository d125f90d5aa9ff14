// Checks texts of the models of llama.cpp's architecture test on WASM: two at a time, of a fork and of a restored session, each against the text
// that a new model computes alone.
//
//   node --conditions=@centella/source packages/llm/scripts/archTexts.mjs FOLDER
//
// arch_logits.py says how the folder is made. The models get a vocabulary here. Prints those whose texts differ, or that are refused.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { contentOf, readGguf, writeGguf } from "@centella/gguf";
import { loadModel } from "../src/index.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("archTexts: expected the folder of the models, got none");
  process.exit(2);
}
const prompt = [15, 27, 93, 51, 24, 66, 105, 42, 81];
/** Texts of which one has more than a block of 32 tokens, which other sessions share. */
const texts = [
  [...prompt, 9, 9, 9, ...prompt, 33, ...prompt, 12, ...prompt],
  [...prompt.slice(0, 3), 36, 39, 18, 21, 90, 33],
];
await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
const names = readdirSync(folder).filter((name) => name.endsWith(".gguf"));
let equal = 0;
for (const name of names) {
  try {
    const problems = await differences(await withVocabulary(join(folder, name)));
    if (problems.length === 0) equal++;
    for (const problem of problems) console.log(`${name}: ${problem}`);
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}
console.log(`${equal} of ${names.length} models compute the same texts`);

/** The file's bytes with a vocabulary of as many words as the model has tokens. */
async function withVocabulary(path) {
  await using file = await readGguf(path);
  const count = file.tensors.find(({ name }) => name === "token_embd.weight").shape[0];
  const indices = Array.from({ length: count }, (_, i) => i);
  const content = contentOf(file);
  const pieces = [];
  const metadata = [
    ...content.metadata.filter(({ key }) => !key.startsWith("tokenizer.")),
    { key: "tokenizer.ggml.model", type: "string", value: "llama" },
    { key: "tokenizer.ggml.tokens", type: "array", elementType: "string", value: indices.map((i) => `\u2581w${i}`) },
    { key: "tokenizer.ggml.scores", type: "array", elementType: "f32", value: Float32Array.from(indices, (i) => -i) },
    { key: "tokenizer.ggml.token_type", type: "array", elementType: "i32", value: Int32Array.from(indices, (i) => (i < 3 ? 3 : 1)) },
    { key: "tokenizer.ggml.bos_token_id", type: "u32", value: 1 },
    { key: "tokenizer.ggml.eos_token_id", type: "u32", value: 2 },
    { key: "tokenizer.ggml.mask_token_id", type: "u32", value: 3 },
  ];
  await writeGguf({ write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) }, { ...content, metadata });
  return Uint8Array.from(Buffer.concat(pieces));
}

async function differences(bytes) {
  const load = () => loadModel(bytes, { runtime, cacheType: "f32", sequences: 2, contextLength: 128 });
  const complete = async (session, ids) => (await session.complete({ ids }, { temperature: 0, maxTokens: 6, ignoreEos: true })).ids;
  const alone = async (ids) => {
    await using model = await load();
    return await complete(model.createSession(), ids);
  };
  await using model = await load();
  const sessions = texts.map(() => model.createSession());
  const together = await Promise.all(sessions.map((session, i) => complete(session, texts[i])));
  const longer = [...texts[0], ...together[0], 63, 12];
  const expected = await alone(longer);
  await using other = await load();
  const restored = await other.restoreSession(await sessions[0].save());
  const compared = [
    ["the first of two texts", together[0], await alone(texts[0])],
    ["the second of two texts", together[1], await alone(texts[1])],
    ["a fork's text", await complete(sessions[0].fork(), longer), expected],
    ["a restored session's text", await complete(restored, longer), expected],
  ];
  return compared.filter(([, got, want]) => got.join() !== want.join()).map(([what, got, want]) => `${what} has ${got}, alone ${want}`);
}
