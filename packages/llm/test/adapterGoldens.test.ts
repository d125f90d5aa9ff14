import { readdirSync, readFileSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeGguf } from "../../gguf/test/writer.ts";
import { type AdapterOptions, loadModel } from "../src/index.ts";
import { everyLayer, familyModel, floats, readFamilyGolden, uniform } from "./familyFixture.ts";
import { relativeError } from "./vectors.ts";

/** What llama.cpp computed with a model of family_goldens.py and adapters; `scripts/adapter_goldens.py` writes it. */
interface AdapterGolden {
  readonly model: string;
  readonly adapters: readonly {
    readonly alpha: number;
    readonly scale: number;
    /** Extents by name; `blk.*.` stands for every block. */
    readonly tensors: Readonly<Record<string, readonly number[]>>;
  }[];
  /** f32 in base64. */
  readonly logits: string;
}

const directory = new URL("fixtures/adapters/", import.meta.url);
const names = readdirSync(directory).map((name) => name.replace(".json", ""));

function adaptersOf({ model, adapters }: AdapterGolden): AdapterOptions[] {
  const { metadata } = readFamilyGolden(model);
  const of = (end: string): [string, unknown] => {
    const [key, , value] = metadata.find(([name]) => name.endsWith(end))!;
    return [key, value];
  };
  return adapters.map(({ alpha, scale, tensors }, index) => ({
    scale,
    source: writeGguf({
      metadata: [
        ["general.type", "string", "adapter"],
        ["adapter.type", "string", "lora"],
        ["general.architecture", "string", String(of("general.architecture")[1])],
        ["adapter.lora.alpha", "f32", alpha],
      ],
      tensors: everyLayer(tensors, Number(of(".block_count")[1])).map(({ name, shape }) => {
        const u = uniform(
          `${index}.${name}`,
          shape.reduce((product, extent) => product * extent, 1),
        );
        const values = Float32Array.from(u, (x) => x / Math.sqrt(shape.at(-1)!));
        return { name, type: "f32", shape, data: new Uint8Array(values.buffer) };
      }),
    }),
  }));
}

describe.each(["reference", "wasm"] as const)("adapters on %s compute what llama.cpp does", (backend) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  });
  afterAll(() => runtime.dispose());

  test.each(names)("%s", async (name) => {
    const golden = JSON.parse(readFileSync(new URL(`${name}.json`, directory), "utf8")) as AdapterGolden;
    const base = readFamilyGolden(golden.model);
    await using model = await loadModel(familyModel(base), { runtime, cacheType: "f32", adapters: adaptersOf(golden) });
    const logits = await model.logits(base.ids);
    expect(relativeError(logits, floats(golden.logits))).toBeLessThan(1e-4);
    expect(relativeError(logits, floats(base.logits!))).toBeGreaterThan(0.1);
  });
});
