import { open } from "node:fs/promises";
import { contentOf, readGguf, writeGguf } from "@centella/gguf";

/** Copies a model, as one of a longer context. Its texts there are worth nothing; the work is the same. */
export async function writeLongModel(model: string, context: number, path: string): Promise<void> {
  const file = await readGguf(model);
  const target = await open(path, "w");
  try {
    const content = contentOf(file);
    const key = `${file.metadata.string("general.architecture")}.context_length`;
    const metadata = content.metadata.map((entry) => (entry.key === key ? { ...entry, value: context } : entry));
    await writeGguf({ write: async (bytes) => void (await target.write(bytes)) }, { ...content, metadata });
  } finally {
    await target.close();
    await file.close();
  }
}
