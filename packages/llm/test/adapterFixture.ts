import { readdirSync, readFileSync } from "node:fs";
import { writeGguf } from "../../gguf/test/writer.ts";
import type { AdapterOptions } from "../src/index.ts";
import { everyLayer, readFamilyGolden, uniform } from "./familyFixture.ts";

/** What llama.cpp computed with a model of family_goldens.py and adapters; `scripts/adapter_goldens.py` writes it. */
export interface AdapterGolden {
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
export const adapterGoldens = readdirSync(directory).map((name) => name.replace(".json", ""));

export function readAdapterGolden(name: string): AdapterGolden {
  return JSON.parse(readFileSync(new URL(`${name}.json`, directory), "utf8")) as AdapterGolden;
}

type Source = AdapterOptions["source"];

/** The adapters' files. */
export function sourcesOf({ model, adapters }: AdapterGolden): Source[] {
  const { metadata } = readFamilyGolden(model);
  const of = (end: string): [string, unknown] => {
    const [key, , value] = metadata.find(([name]) => name.endsWith(end))!;
    return [key, value];
  };
  return adapters.map(({ alpha, tensors }, index) =>
    writeGguf({
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
  );
}
