import { type ByteSource, type GgufFile, type GgufInput, hasFileSystem, type LocateOptions, openSource, readGguf } from "@centella/gguf";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { LoadModelOptions } from "./loadOptions.ts";

/** An open model file. */
export interface OpenedFile {
  readonly file: GgufFile;
  /** Closes what was opened here. A source that was handed in stays its owner's to close. */
  readonly close: () => Promise<void>;
  /** The file's tokenizer, if it was needed before. */
  readonly tokenizer?: Tokenizer;
}

/** How files that are not on this machine are opened. Pages store what they download. */
export function locateOptions({ signal, cache = hasFileSystem() ? undefined : true, onProgress }: LoadModelOptions): LocateOptions {
  const onDownload: LocateOptions["onDownload"] = (done, total) => {
    if (total !== undefined) onProgress?.(done, total, "download");
  };
  return { signal, cache, onDownload };
}

/** Opens a model file, or the parts of a split one. */
export async function openModelFile(source: GgufInput | readonly GgufInput[], options: LocateOptions): Promise<OpenedFile> {
  const inputs = isList(source) ? source : [source];
  if (inputs.every(isPlace)) {
    const file = await readGguf(source, options);
    return { file, close: () => file.close() };
  }
  const signal = options.signal && { signal: options.signal };
  const opened: ByteSource[] = [];
  const close = async (): Promise<void> => {
    for (const part of opened) await part.close?.();
  };
  try {
    const parts: GgufInput[] = [];
    for (const input of inputs) {
      if (!isPlace(input)) {
        parts.push(input);
        continue;
      }
      const part = await openSource(input, signal);
      opened.push(part);
      parts.push(part);
    }
    return { file: await readGguf(parts, signal), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function isList(source: GgufInput | readonly GgufInput[]): source is readonly GgufInput[] {
  return Array.isArray(source);
}

function isPlace(input: GgufInput): input is string | URL {
  return typeof input === "string" || input instanceof URL;
}
