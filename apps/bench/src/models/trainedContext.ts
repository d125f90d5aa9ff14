import { readGguf } from "@centella/gguf";

const known = new Map<string, Promise<number>>();

/** Tokens that a file's model was trained on at a time. */
export function trainedContext(file: string): Promise<number> {
  const context = known.get(file) ?? read(file);
  known.set(file, context);
  return context;
}

async function read(path: string): Promise<number> {
  const file = await readGguf(path);
  try {
    return file.metadata.count(`${file.metadata.string("general.architecture")}.context_length`);
  } finally {
    await file.close();
  }
}
