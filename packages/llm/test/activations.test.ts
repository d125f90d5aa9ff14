import { type Activations, type Backend, type BackendFactory, createRuntime, type DType, reference } from "@centella/core";
import { readGguf } from "@centella/gguf";
import { floatRowToHalf } from "@centella/quant";
import { describe, expect, test, vi } from "vitest";
import { writeGguf } from "../../gguf/test/writer.ts";
import { loadModel } from "../src/index.ts";
import type { ActivationMode } from "../src/model/modelBuilder.ts";
import { type RecordedModel, recordModel } from "../src/model/recordModel.ts";
import { describeArchitecture } from "../src/models/index.ts";
import { familyFile, readFamilyGolden } from "./familyFixture.ts";
import { tiny } from "./modelFiles.ts";

const ids = [0, 2817, 632, 263, 534];

/** A small model of Llama's form whose matrices are f16. */
function halfModel(): Uint8Array<ArrayBuffer> {
  const { metadata, tensors } = familyFile(readFamilyGolden("xverse"));
  return writeGguf({
    metadata,
    tensors: tensors.map((tensor) => {
      if (tensor.shape.length < 2) return tensor;
      const floats = new Float32Array(tensor.data!.buffer);
      const halves = new Uint16Array(floats.length);
      floatRowToHalf(floats, halves);
      return { ...tensor, type: "f16", data: new Uint8Array(halves.buffer) };
    }),
  });
}

async function recorded(bytes: Uint8Array<ArrayBuffer>, activations: ActivationMode): Promise<RecordedModel> {
  await using file = await readGguf(bytes);
  const sizes = {
    contextLength: 64,
    batchSize: 8,
    maxRows: 4,
    sequences: 1,
    cacheType: "f16",
    isGeluRounded: false,
    runsInFlight: 1,
  } as const;
  return recordModel(await describeArchitecture(file), file, { ...sizes, activations });
}

/** The modes of all calls of an op. */
function modesOf({ program }: RecordedModel, name: string): ReadonlySet<unknown> {
  const calls = program.nodes.filter(({ op }) => op.name === name);
  expect(calls).not.toHaveLength(0);
  return new Set(calls.map(({ params }) => (params as { readonly activations?: unknown }).activations));
}

/** The scalar reference as a backend that prefers a mode, asked for one type after the other. */
function preferring(mode: Activations, asked: DType[] = []): BackendFactory {
  return {
    name: "preferring",
    async open(): Promise<Backend> {
      const prefer = (type: DType): Activations => {
        asked.push(type);
        return mode;
      };
      const backend = await reference().open();
      return new Proxy(backend, {
        get(target, key) {
          if (key === "name") return "preferring";
          if (key === "preferredActivations") return prefer;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}

describe("programs of models with f16 weights", () => {
  test.each(["f32", "half", "ggml"] as const)("mode %s is the products' own: nothing is cast", async (mode) => {
    const model = await recorded(halfModel(), mode);
    expect(modesOf(model, "matmul")).toEqual(new Set([mode]));
    expect(modesOf(model, "attention")).toEqual(new Set([mode === "half" ? "half" : "f32"]));
    expect(model.program.nodes.filter(({ op }) => op.name === "cast")).toEqual([]);
  });

  test("products with f32 weights are exact in every mode", async () => {
    const model = await recorded(writeGguf(familyFile(readFamilyGolden("xverse"))), "half");
    expect(modesOf(model, "matmul")).toEqual(new Set(["f32"]));
  });
});

describe("the mode of a model", () => {
  test("is what the selected backend prefers for the type of most weights", async () => {
    const asked: DType[] = [];
    await using runtime = await createRuntime({ backends: [preferring("half", asked)] });
    await using model = await loadModel(tiny, { runtime, cacheType: "f32" });
    expect(model.info).toMatchObject({ backend: "preferring", activations: "half" });
    await using half = await loadModel(halfModel(), { runtime });
    expect(half.info.activations).toBe("half");
    expect([...new Set(asked)]).toEqual(["q8_0", "f16"]);
    // "half" is a permission, which the reference does not use.
    await using exact = await loadModel(tiny, { runtime, cacheType: "f32", activations: "f32" });
    expect(exact.info.activations).toBe("f32");
    expect(await model.logits(ids)).toEqual(await exact.logits(ids));
  });

  test("is known from the file's types where no GPU may be selected, so that the program is recorded once", async () => {
    await using runtime = await createRuntime({ backends: [preferring("half")] });
    const [select, compile] = [vi.spyOn(runtime, "select"), vi.spyOn(runtime, "compile")];
    await using model = await loadModel(halfModel(), { runtime });
    expect(model.info.activations).toBe("half");
    expect(select).toHaveBeenCalledOnce();
    expect(compile.mock.calls[0]![0]).toBe(select.mock.calls[0]![0]);
  });

  test('is "ggml" for block types and "f32" for f16 where the backend has no preference', async () => {
    await using runtime = await createRuntime({ backends: [] });
    await using blocks = await loadModel(tiny, { runtime });
    await using half = await loadModel(halfModel(), { runtime });
    expect([blocks.info.activations, half.info.activations]).toEqual(["ggml", "f32"]);
  });

  test("is the requested one, regardless of what the backend prefers", async () => {
    await using runtime = await createRuntime({ backends: [preferring("half")] });
    for (const activations of ["ggml", "f32", "half"] as const) {
      await using model = await loadModel(tiny, { runtime, activations });
      expect(model.info.activations).toBe(activations);
    }
  });
});
