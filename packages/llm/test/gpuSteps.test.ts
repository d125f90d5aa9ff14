import { lower, type ProgramGraph, type Unsupported } from "@centella/core/backend";
import { readGguf } from "@centella/gguf";
import { expect, test } from "vitest";
import { kernelTable as cuda, fusion } from "../../backend-cuda/src/kernels/index.ts";
import { guaranteed } from "../../backend-webgpu/src/device/capabilities.ts";
import { kernelTableFor } from "../../backend-webgpu/src/kernels/index.ts";
import { recordModel } from "../src/model/recordModel.ts";
import { describeArchitecture } from "../src/models/index.ts";
import { familyModel, readFamilyGolden } from "./familyFixture.ts";

const webgpu = kernelTableFor({ ...guaranteed, maxBindings: 10, workgroupBytes: 2 ** 15 });

/** Limits of fusion and refusals of each GPU backend. */
const backends = {
  cuda: { fusion, unsupported: cuda.unsupported },
  webgpu: { fusion: { maxInputs: 9, maxCalls: 128 }, unsupported: ((...call) => webgpu.unsupported(...call)) satisfies Unsupported },
} as const;

/** A model of Llama's form. */
async function program(activations: "f32" | "half" | "ggml"): Promise<{ readonly program: ProgramGraph; readonly layers: number }> {
  await using file = await readGguf(familyModel(readFamilyGolden("xverse")));
  const description = await describeArchitecture(file);
  const sizes = { contextLength: 64, batchSize: 8, maxRows: 4, sequences: 1, cacheType: "f16", activations, runsInFlight: 1 } as const;
  return { program: recordModel(description, file, { ...sizes, isGeluRounded: false }).program, layers: description.config.layers };
}

test.each(["cuda", "webgpu"] as const)(
  "a layer has six steps on %s: queries, keys and values, their cache, attention, its output, gate and up, down",
  async (name) => {
    const { unsupported, fusion: limits } = backends[name];
    for (const activations of ["half", "ggml"] as const) {
      const { program: recorded, layers } = await program(activations);
      const { steps } = lower(recorded, name, unsupported, { fusion: limits, memoryModel: name === "cuda" ? "addressSpace" : "buffers" });
      // The embedding, two rows of the last layer, the logits, those that are read, and the choice.
      expect(steps.length, activations).toBe(6 * layers + 6);
    }
  },
);
