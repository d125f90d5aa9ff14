import { createRuntime, DeviceLostError } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "../../backend-webgpu/test/support/describeOpened.ts";
import { openUnguarded } from "../../backend-webgpu/test/support/openBackend.ts";
import { type GenerateOptions, loadModel } from "../src/index.ts";
import { familyModel, readFamilyGolden, withVocabulary } from "./familyFixture.ts";

const greedy: GenerateOptions = { temperature: 0, maxTokens: 4, ignoreEos: true };

// Unguarded, because checks need the device that is lost.
await describeOpened("after a WebGPU device was destroyed", openUnguarded(), (opened) => {
  afterAll(() => opened.backend.dispose());

  test("a session goes on with the same tokens", async () => {
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

  test("loading rejects, and can be repeated on the backend once it has recovered", async () => {
    const { backend } = opened;
    const runtime = await createRuntime({ backends: [{ name: "webgpu", open: async () => backend }], policy: { force: "webgpu" } });
    const options = { runtime, contextLength: 32, sequences: 1, batchSize: 1, activations: "f32" } as const;
    const file = familyModel(withVocabulary(readFamilyGolden("baichuan-7b")));
    let isLost = false;
    const losing = {
      size: file.length,
      read: async (offset: number, length: number) => {
        // The weights fill most of the file.
        if (!isLost && offset > file.length / 2) {
          isLost = true;
          opened.device.destroy();
        }
        return file.subarray(offset, offset + length);
      },
    };
    const { recoveries } = backend;
    await expect(loadModel(losing, options)).rejects.toThrow(DeviceLostError);
    expect(isLost).toBe(true);
    await backend.recover!();
    expect(backend.recoveries).toBe(recoveries! + 1);
    // The model that did not load left nothing behind.
    expect(backend.memory()).toMatchObject({ persistents: 0, arenas: 0 });
    await using model = await loadModel(losing, options);
    const { ids } = await model.createSession().complete({ ids: [1, 5] }, greedy);
    expect(ids).toHaveLength(4);
  });
});
