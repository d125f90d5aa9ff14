import { type ByteSink, writeGguf } from "@centella/gguf";
import { saveBlob } from "../ui/saveBlob.ts";
import { type Edits, editedContent } from "./edits.ts";
import type { OpenedFile } from "./openedFile.ts";

/** The part of the browser's dialog for saving that is used here. Not every browser has it. */
interface SavePicker {
  showSaveFilePicker?(options: { readonly suggestedName: string }): Promise<{ createWritable(): Promise<WritableFile> }>;
}

interface WritableFile extends ByteSink {
  close(): Promise<void>;
  abort(): Promise<void>;
}

/** Writes a copy of a file with other metadata to the disk. Where the browser has no dialog for that, it is a download. */
export async function saveCopy({ file }: OpenedFile, edits: Edits, suggestedName: string): Promise<void> {
  const content = editedContent(file, edits);
  const { showSaveFilePicker } = globalThis as SavePicker;
  if (showSaveFilePicker === undefined) {
    const parts: Blob[] = [];
    await writeGguf({ write: async (bytes) => void parts.push(new Blob([new Uint8Array(bytes)])) }, content);
    saveBlob(suggestedName, new Blob(parts));
    return;
  }
  const handle = await showSaveFilePicker.call(globalThis, { suggestedName });
  const writable = await handle.createWritable();
  try {
    await writeGguf({ write: (bytes) => writable.write(bytes) }, content);
    await writable.close();
  } catch (error) {
    await writable.abort();
    throw error;
  }
}
