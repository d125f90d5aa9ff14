import { createRuntime } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../../backend-webgpu/test/describeOpened.ts";
import { openBackend } from "../../backend-webgpu/test/openBackend.ts";
import { type GenerateOptions, loadModel } from "../src/index.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

const greedy: GenerateOptions = { temperature: 0, maxTokens: 4, ignoreEos: true };

await describeOpened("after its WebGPU device was destroyed", openBackend(), (opened) => {
  afterAll(() => opened.backend.dispose());

  test("a session goes on with the same tokens", { timeout: 240_000 }, async () => {
    const runtime = await createRuntime({ backends: [{ name: "webgpu", open: async () => opened.backend }], policy: { force: "webgpu" } });
    // One token a run, which has the fewest kernels: SwiftShader compiles all of them again for the new device.
    const options = { runtime, contextLength: 32, sequences: 1, batchSize: 1, runsInFlight: 3, activations: "f32" } as const;
    await using model = await loadModel(familyModel(withVocabulary(readFamilyGolden("baichuan-7b"))), options);
    const session = model.createSession();
    const expected = await session.complete({ ids: [1, 5] }, greedy);
    const ids: number[] = [];
    for await (const part of session.generate({ ids: [1, 5] }, greedy)) {
      if (part.type !== "text") continue;
      ids.push(...part.ids);
      if (ids.length === 2) opened.device.destroy();
    }
    expect(ids).toEqual(expected.ids);
    expect(opened.backend.recoveries).toBe(1);
  });
});
