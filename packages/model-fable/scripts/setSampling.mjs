// Writes the sampling that suits Fable into its file, where loaders look for a model's own defaults:
//   node packages/model-fable/scripts/setSampling.mjs        (needs a build)
import { open, rename } from "node:fs/promises";
import { contentOf, readGguf, writeGguf } from "@centella/gguf";

const sampling = [
  { key: "general.sampling.temp", type: "f32", value: 0.7 },
  { key: "general.sampling.penalty_repeat", type: "f32", value: 1.1 },
];

const path = new URL("../models/fable-q4_k_m.gguf", import.meta.url);
const partial = new URL(`${path.href}.partial`);
{
  await using file = await readGguf(path);
  const content = contentOf(file);
  const others = content.metadata.filter(({ key }) => !sampling.some((entry) => entry.key === key));
  await using out = await open(partial, "wx");
  await writeGguf({ write: (bytes) => out.appendFile(bytes) }, { ...content, metadata: [...others, ...sampling] });
}
await rename(partial, path);
