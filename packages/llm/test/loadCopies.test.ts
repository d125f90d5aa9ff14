import { readFileSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import type { ByteSource } from "@centella/gguf";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { tiny } from "./modelFiles.ts";

const bytes = readFileSync(tiny);

/** Counts the bytes that a load reads in either way, by whether they go to memory of the kernels. */
function countingSource(): { readonly source: ByteSource; readonly counts: { returned: number; shared: number; own: number } } {
  const counts = { returned: 0, shared: 0, own: 0 };
  const source: ByteSource = {
    size: bytes.length,
    async read(offset, length) {
      counts.returned += length;
      return bytes.subarray(offset, offset + length);
    },
    async readInto(target, offset) {
      counts[target.buffer instanceof SharedArrayBuffer ? "shared" : "own"] += target.length;
      target.set(bytes.subarray(offset, offset + target.length));
    },
  };
  return { source, counts };
}

test("weights are copied once: from the file to where kernels read them, or to where they are converted from", async () => {
  const runtime = await createRuntime({ backends: [wasm({ threads: 2 })] });
  const { source, counts } = countingSource();
  const model = await loadModel(source, { runtime, contextLength: 64 });
  const weights = model.info.memory.weights;
  expect(counts.own + counts.shared).toBeGreaterThan(0.99 * weights);
  expect(counts.own + counts.shared).toBeLessThan(1.01 * weights);
  // The header, and tensors that are decoded.
  expect(counts.returned).toBeLessThan(2 ** 22);
  const text = await model.createSession().complete("Once", { maxTokens: 4, temperature: 0 });
  const fromBytes = await loadModel(new Uint8Array(bytes), { runtime, contextLength: 64 });
  expect((await fromBytes.createSession().complete("Once", { maxTokens: 4, temperature: 0 })).text).toBe(text.text);
  await model.dispose();
  await fromBytes.dispose();
  await runtime.dispose();
});
