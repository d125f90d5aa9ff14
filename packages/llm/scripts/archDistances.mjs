// Compares the models of llama.cpp's architecture test, as test-llama-archs writes them, on WASM with what llama.cpp computes:
//
//   node --conditions=@centella/source packages/llm/scripts/archDistances.mjs FOLDER
//
// arch_logits.py, which says how the folder is made, writes llama.cpp's logits. Prints the models that are further away than 1e-4, or refused.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { loadModel } from "../src/index.ts";
import { asLlamaCpp } from "../test/familyError.ts";
import { relativeError } from "../test/vectors.ts";

const bar = 1e-4;
const ids = Array.from({ length: 24 }, (_, i) => (i * 7 + 3) % 128);
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("archDistances: expected the folder of the models, got none");
  process.exit(2);
}
await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
const names = readdirSync(folder).filter((name) => name.endsWith(".gguf"));
const distances = [];
for (const name of names) {
  try {
    await using model = await loadModel(join(folder, name), { runtime, ...asLlamaCpp });
    const expected = new Float32Array(Uint8Array.from(readFileSync(join(folder, `${name}.f32`))).buffer);
    const distance = relativeError(await model.logits(ids), expected);
    distances.push(distance);
    if (!(distance < bar)) console.log(`${name}: ${distance.toExponential(1)}`);
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}
const near = distances.filter((distance) => distance < bar);
console.log(`${near.length} of ${names.length} models within ${bar}, the furthest of them ${Math.max(...near).toExponential(1)}`);
