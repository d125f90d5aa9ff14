import { elementAt } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { type GgufFile, readGguf } from "../read/file.ts";
import { shown } from "../shown.ts";
import type { ByteSource, GgufInput } from "../source/byteSource.ts";
import { openSource } from "../source/source.ts";

/**
 * Importance of each column of each weight, by the name of the tensor: the mean square of the activations that the column was multiplied
 * with. One number per column; stacked experts follow one another.
 */
export interface Imatrix {
  readonly entries: ReadonlyMap<string, Float32Array>;
  /** The path that it was read from, if it was one. */
  readonly name?: string;
  /** Chunks of text that it was computed on, where the file says so. */
  readonly chunks: number | undefined;
  /** Names of the texts. */
  readonly datasets: readonly string[];
}

/**
 * Reads what `llama-imatrix` writes: a GGUF file with sums and counts, or the format that it wrote before.
 * @throws {GgufError} `invalid`, `truncated`; what {@link readGguf} throws
 */
export async function readImatrix(input: GgufInput, options: { readonly signal?: AbortSignal } = {}): Promise<Imatrix> {
  const source = await openSource(input, options);
  try {
    const magic = await source.read(0, Math.min(4, source.size), options.signal);
    const isGguf = String.fromCharCode(...magic) === "GGUF";
    const read = isGguf ? await fromGguf(await readGguf(source, options), options.signal) : await readOldFormat(source, options.signal);
    return typeof input === "string" ? { ...read, name: input } : read;
  } finally {
    await source.close?.();
  }
}

const sumsSuffix = ".in_sum2";
const countsSuffix = ".counts";

/** Source: `IMatrixCollector::save_imatrix` of llama.cpp's imatrix.cpp. */
async function fromGguf(file: GgufFile, signal: AbortSignal | undefined): Promise<Imatrix> {
  if (file.metadata.get("general.type") !== "imatrix") {
    throw new GgufError("invalid", { expected: "a GGUF file of type 'imatrix'", got: "another", hint: "give what llama-imatrix wrote" });
  }
  const entries = new Map<string, Float32Array>();
  const read = { ...(signal && { signal }) };
  for (const tensor of file.tensors) {
    if (!tensor.name.endsWith(sumsSuffix)) continue;
    const name = tensor.name.slice(0, -sumsSuffix.length);
    const sums = await file.readTensorF32(tensor, read);
    const counts = await file.readTensorF32(`${name}${countsSuffix}`, read);
    if (counts.length === 0 || sums.length % counts.length !== 0) {
      throw new GgufError("invalid", {
        expected: `as many sums of '${shown(name)}' for each count`,
        got: `${sums.length} for ${counts.length}`,
      });
    }
    const columns = sums.length / counts.length;
    // No text reached this expert: all its columns have the same importance.
    const mean = sums.map((sum, i) => {
      const count = elementAt(counts, Math.floor(i / columns));
      return count > 0 ? sum / count : 1;
    });
    entries.set(name, checked(name, mean));
  }
  return {
    entries,
    chunks: file.metadata.optionalCount("imatrix.chunk_count"),
    datasets: file.metadata.optionalStrings("imatrix.datasets")?.toArray() ?? [],
  };
}

/** Largest accepted file, in bytes. The largest models have about ten million numbers. */
const oldFormatBytes = 2 ** 29;

/** `count i32 | count × (nameLength i32 | name | calls i32 | values i32 | values × f32) | chunks i32 | datasetLength i32 | dataset`. */
async function readOldFormat(source: ByteSource, signal: AbortSignal | undefined): Promise<Imatrix> {
  if (source.size > oldFormatBytes) {
    throw new GgufError("limit", { expected: `an imatrix file of at most ${oldFormatBytes} bytes`, got: String(source.size) });
  }
  const bytes = await source.read(0, source.size, signal);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (length: number, what: string): number => {
    if (length < 0 || at + length > bytes.length) {
      throw new GgufError("truncated", {
        expected: `${length} bytes of ${what}`,
        got: `${bytes.length - at} to the end of the file`,
        offset: at,
        hint: "the file is damaged, or no imatrix file",
      });
    }
    at += length;
    return at - length;
  };
  const i32 = (what: string): number => view.getInt32(take(4, what), true);
  const text = (what: string): string => {
    const length = i32(what);
    const start = take(length, what);
    return new TextDecoder().decode(bytes.subarray(start, start + length));
  };
  const entries = new Map<string, Float32Array>();
  const count = i32("the number of entries");
  if (count < 1) throw new GgufError("invalid", { expected: "an imatrix with entries", got: String(count), offset: 0 });
  for (let i = 0; i < count; i++) {
    const name = text(`the name of entry ${i}`);
    const calls = i32(`the calls of '${shown(name)}'`);
    const length = i32(`the length of '${shown(name)}'`);
    const start = take(4 * Math.max(0, length), `the values of '${shown(name)}'`);
    if (length < 1) throw new GgufError("invalid", { expected: `values of '${shown(name)}'`, got: String(length), offset: start });
    const values = Float32Array.from({ length }, (_, k) => view.getFloat32(start + 4 * k, true) / (calls > 0 ? calls : 1));
    entries.set(name, checked(name, values));
  }
  const chunks = at < bytes.length ? i32("the number of chunks") : undefined;
  return { entries, chunks, datasets: at < bytes.length ? [text("the name of the data")] : [] };
}

function checked(name: string, values: Float32Array): Float32Array {
  const bad = values.find((value) => !(value >= 0 && Number.isFinite(value)));
  if (bad === undefined) return values;
  throw new GgufError("invalid", { expected: `numbers >= 0 for '${shown(name)}' in the imatrix`, got: String(bad) });
}
