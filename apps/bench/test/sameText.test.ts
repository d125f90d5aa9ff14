import { execFileSync } from "node:child_process";
import { oldestNode } from "@centella/test-devices";
import { expect, test } from "vitest";
import { appFolder, repositoryFolder } from "../src/receipts/store.ts";

/** Generates a sampled text on the built packages and prints it, with what it was computed by and a digest of all logits. */
const program = (options: string): string => `
  import { createHash } from "node:crypto";
  import { wasm } from "@centella/backend-wasm";
  import { createRuntime } from "@centella/core";
  import { loadModel } from "@centella/llm";
  const runtime = await createRuntime({ backends: [wasm(${options})], policy: { force: "wasm" } });
  const model = await loadModel(${JSON.stringify(`${repositoryFolder}/packages/model-fable/models/fable-tiny-q8_0.gguf`)}, { runtime });
  const { text, ids } = await model.createSession().complete("Tell me a story about a cat.", { maxTokens: 40, seed: 7, raw: true });
  const logits = createHash("sha256").update(new Uint8Array((await model.logits(ids)).buffer)).digest("hex");
  console.log(JSON.stringify({ device: runtime.backends[0].device.name.split(",")[0], text, logits }));
  await runtime.dispose();
`;

/** An engine without relaxed SIMD, to those who ask: it refuses modules with f32x4.relaxed_madd. */
const withoutRelaxed = `data:text/javascript,${encodeURIComponent(`
  const { validate } = WebAssembly;
  WebAssembly.validate = (bytes) => validate(bytes) && !Buffer.from(bytes).includes(Buffer.of(0xfd, 0x85, 0x02));
`)}`;

function run(node: string, options: string, ...flags: readonly string[]): { readonly device: string; readonly text: string } {
  const args = [...flags, "--input-type=module", "--eval", program(options)];
  return JSON.parse(execFileSync(node, args, { cwd: appFolder, encoding: "utf8" }));
}

test("without relaxed SIMD a seed gives the same text, whether the engine has it or not, in every Node", async ({ skip }) => {
  const chosen = run(process.execPath, "{ relaxed: false }");
  expect(chosen.device).toBe("WebAssembly SIMD");
  expect(chosen.text.length).toBeGreaterThan(40);
  expect(run(process.execPath, "", "--import", withoutRelaxed)).toEqual(chosen);
  const oldest = oldestNode();
  if ("reason" in oldest) return skip(oldest.reason);
  expect(run(oldest.path, "{ relaxed: false }")).toEqual(chosen);
});
