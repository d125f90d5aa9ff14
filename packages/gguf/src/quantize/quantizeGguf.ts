import { type GgmlType, isBlockType, isDequantizable, isQuantizable, type QuantizableType, rowBytes } from "@centella/quant";
import {
  abortSignal,
  boolean,
  callback,
  check,
  checkOptions,
  elementAt,
  isRecord,
  type Kinds,
  kind,
  lastOf,
  whole,
} from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { abortable } from "../http/http.ts";
import { ggufFile } from "../kinds.ts";
import type { GgufFile } from "../read/file.ts";
import type { TensorInfo } from "../read/tensorInfo.ts";
import { shown } from "../shown.ts";
import { contentOf, type GgufContent, type TensorContent } from "../write/content.ts";
import type { WritableEntry } from "../write/encode.ts";
import { mergedContent } from "../write/split.ts";
import type { WholeFileOptions } from "../write/wholeFile.ts";
import { type WriteTarget, writeGguf } from "../write/write.ts";
import { type Converters, startConverters } from "./converters.ts";
import { release } from "./convertRows.ts";
import type { Imatrix } from "./imatrix.ts";
import { inWritingOrder, type MixModel, tensorTypes } from "./mix.ts";
import { fileTypeOf, type Recipe } from "./recipes.ts";
import { roleOf } from "./tensorRoles.ts";

export interface QuantizePlanOptions {
  /** Importance of the weights' columns, see `readImatrix`. Tensors that it does not know are quantised without. */
  readonly imatrix?: Imatrix;
  /** The recipe's base type for every tensor instead of its mix. Default false. */
  readonly pure?: boolean;
  /** Take tensors that are quantised already, at a loss beyond that of the recipe. Default false: they are refused. */
  readonly allowRequantize?: boolean;
}

/** How {@link quantizeGguf} writes; `overwrite` is for paths. */
export interface QuantizeGgufOptions extends QuantizePlanOptions, WholeFileOptions {
  /** Threads to compute on, each of some 20 MB. Default: all cores in Node, at most eight; elsewhere there is only the calling thread. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Called with the bytes written so far and in total. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** What becomes of one tensor. */
export interface QuantizedTensor {
  readonly name: string;
  readonly from: GgmlType;
  readonly to: GgmlType;
  /** Row-major. */
  readonly shape: readonly number[];
  readonly hasImportance: boolean;
}

/** What {@link quantizeGguf} wrote. */
export interface QuantizeReport {
  readonly recipe: Recipe;
  /** Bytes of the new file. */
  readonly bytes: number;
  /** In the order of the new file. */
  readonly tensors: readonly QuantizedTensor[];
  /** Threads that computed. */
  readonly threads: number;
}

/** A planned tensor with what converting it needs. */
interface Conversion extends QuantizedTensor {
  readonly tensor: TensorInfo;
  readonly importance: Float32Array | undefined;
}

const imatrixKind = kind(
  "what readImatrix() returns",
  (value) => isRecord(value) && value.entries instanceof Map && Array.isArray(value.datasets),
);
const planKinds: Kinds<QuantizePlanOptions> = { imatrix: imatrixKind, pure: boolean, allowRequantize: boolean };
const kinds: Kinds<QuantizeGgufOptions> = {
  ...planKinds,
  threads: whole(1, 256),
  signal: abortSignal,
  onProgress: callback,
  overwrite: boolean,
};

/**
 * The tensors of a file in the order and with the types that llama.cpp's `llama-quantize` gives them; reads nothing but the header.
 * @throws {GgufError} `unsupported-type` for tensors that cannot be converted (quantised ones need `allowRequantize`), `missing` and
 * `invalid` if the imatrix lacks what the recipe needs or does not fit
 */
export function quantizePlan(file: GgufFile, recipe: Recipe, options: QuantizePlanOptions = {}): readonly QuantizedTensor[] {
  checkOptions("quantizePlan", options, planKinds);
  return conversions(file, recipe, options).map(summary);
}

function summary({ name, from, to, shape, hasImportance }: QuantizedTensor): QuantizedTensor {
  return { name, from, to, shape, hasImportance };
}

/**
 * Writes `file` quantised by a recipe such as `Q4_K_M`: the same types, the same blocks and the same order as llama.cpp's
 * `llama-quantize`, so the same file (little-endian, in one part). Memory does not grow with the model, only with the threads.
 * @throws {GgufError} as {@link quantizePlan} and, for a path, {@link writeGguf}; `corrupt` for values that are no finite numbers or beyond the range of their new type
 */
export async function quantizeGguf(
  target: WriteTarget,
  file: GgufFile,
  recipe: Recipe,
  options: QuantizeGgufOptions = {},
): Promise<QuantizeReport> {
  const { threads, signal, onProgress, imatrix, overwrite } = checkOptions("quantizeGguf", options, kinds);
  signal?.throwIfAborted();
  const planned = conversions(file, recipe, options);
  const converters = startConverters(threads);
  try {
    const content: GgufContent = {
      version: 3,
      byteOrder: "little",
      metadata: [...metadataOf(file, imatrix), ...recipeKeys(recipe), ...imatrixKeys(imatrix)],
      tensors: planned.map((conversion) => converted(file, conversion, converters)),
    };
    const bytes = await writeGguf(target, content, {
      // Enough for two jobs a thread, few enough to be small whatever the number of threads.
      chunkBytes: 2 ** 18 * Math.max(2, Math.min(16, converters.count)),
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
      ...(overwrite && { overwrite }),
    });
    return { recipe, bytes, tensors: planned.map(summary), threads: converters.count };
  } finally {
    await converters.dispose();
  }
}

function conversions(
  file: GgufFile,
  recipe: Recipe,
  { imatrix, pure = false, allowRequantize = false }: QuantizePlanOptions,
): Conversion[] {
  check("quantize", "file", file, ggufFile);
  const ordered = inWritingOrder(file.tensors);
  const types = tensorTypes(recipe, mixModelOf(file), ordered, { pure, hasImatrix: imatrix !== undefined });
  return ordered.map((tensor, i) => {
    const to = elementAt(types, i);
    const { name, type: from, shape } = tensor;
    if (from !== to) requireConvertible(tensor, to, allowRequantize);
    const importance = from === to || !isBlockType(to) ? undefined : importanceOf(tensor, imatrix);
    // Two bits for everything are too few to be spent without knowing where they matter.
    if (recipe === "Q2_K_S" && to === "q2_K" && importance === undefined && from !== to && roleOf(name) !== "embedding") {
      const hint = "give an imatrix, or take Q2_K";
      throw new GgufError("missing", { expected: `an importance matrix for '${shown(name)}', as Q2_K_S needs`, got: "none", hint });
    }
    return { name, from, to, shape, tensor, importance, hasImportance: importance !== undefined };
  });
}

/** Reads the properties that the mix depends on from the metadata. */
function mixModelOf({ metadata }: GgufFile): MixModel {
  const architecture = metadata.optionalString("general.architecture") ?? "";
  const ofFirstLayer = (key: string): number | undefined => {
    const value = metadata.get(`${architecture}.${key}`);
    return typeof value === "number" ? value : value === undefined ? undefined : metadata.numbers(`${architecture}.${key}`)[0];
  };
  const heads = ofFirstLayer("attention.head_count") ?? 0;
  const kvHeads = ofFirstLayer("attention.head_count_kv") ?? heads;
  return {
    architecture,
    layers: metadata.optionalCount(`${architecture}.block_count`) ?? 0,
    headsPerKv: kvHeads === 0 ? 0 : Math.floor(heads / kvHeads),
    experts: metadata.optionalCount(`${architecture}.expert_count`) ?? 0,
  };
}

function requireConvertible({ name, type }: TensorInfo, to: GgmlType, allowRequantize: boolean): void {
  if (!isQuantizable(to) || !isDequantizable(type)) {
    throw new GgufError("unsupported-type", { expected: `a type of '${shown(name)}' that ${to} can be made of`, got: type });
  }
  if (isBlockType(type) && !allowRequantize) {
    throw new GgufError("unsupported-type", {
      expected: `'${shown(name)}' in f32, f16 or bf16`,
      got: type,
      hint: "quantise the original file, or allow requantising and accept the loss",
    });
  }
}

function importanceOf({ name, shape, elements }: TensorInfo, imatrix: Imatrix | undefined): Float32Array | undefined {
  const values = imatrix?.entries.get(name);
  if (values === undefined) return undefined;
  const expected = elements / (shape.at(-2) ?? 1);
  if (values.length === expected) return values;
  // The embedding is looked up, not multiplied with; what an imatrix has for it may be of the output.
  if (roleOf(name) === "embedding") return undefined;
  const hint = "the imatrix is of another model";
  throw new GgufError("invalid", { expected: `${expected} numbers for '${shown(name)}' in the imatrix`, got: String(values.length), hint });
}

const recipeKeyNames = ["general.quantization_version", "general.file_type"] as const;
const imatrixKeyNames = [
  "quantize.imatrix.file",
  "quantize.imatrix.dataset",
  "quantize.imatrix.entries_count",
  "quantize.imatrix.chunks_count",
] as const;

/** Returns the file's keys without the replaced ones, which llama-quantize writes at the end. */
function metadataOf(file: GgufFile, imatrix: Imatrix | undefined): readonly WritableEntry[] {
  const replaced = new Set<string>([...recipeKeyNames, ...imatrixKeys(imatrix).map(({ key }) => key)]);
  return mergedContent(contentOf(file)).metadata.filter(({ key }) => !replaced.has(key));
}

function recipeKeys(recipe: Recipe): readonly WritableEntry[] {
  const [version, fileType] = recipeKeyNames;
  // Version 2 of the block formats: `GGML_QNT_VERSION` of ggml.h.
  return [
    { key: version, type: "u32", value: 2 },
    { key: fileType, type: "u32", value: fileTypeOf(recipe).id },
  ];
}

function imatrixKeys(imatrix: Imatrix | undefined): readonly WritableEntry[] {
  if (imatrix === undefined) return [];
  const { name, datasets, entries, chunks } = imatrix;
  const [file, dataset, count, chunkCount] = imatrixKeyNames;
  return [
    ...(name === undefined ? [] : [{ key: file, type: "string" as const, value: name }]),
    ...(datasets[0] === undefined ? [] : [{ key: dataset, type: "string" as const, value: datasets[0] }]),
    { key: count, type: "u32", value: entries.size },
    ...(chunks === undefined ? [] : [{ key: chunkCount, type: "u32" as const, value: chunks }]),
  ];
}

/** Returns the tensor to write: its bytes, or blocks that are computed when they are read. */
function converted(file: GgufFile, conversion: Conversion, converters: Converters): TensorContent {
  const { tensor, name, from, to, shape } = conversion;
  if (from === to || !isQuantizable(to)) {
    return {
      name,
      type: to,
      shape,
      data: { read: (offset, length, signal) => file.readTensor(tensor, { offset, length, ...(signal && { signal }) }) },
    };
  }
  const row = rowBytes(to, lastOf(shape));
  return {
    name,
    type: to,
    shape,
    data: {
      async read(offset, length, signal) {
        const first = Math.floor(offset / row);
        const rows = Math.ceil((offset + length) / row) - first;
        const bytes = await convertedRows(file, { ...conversion, to }, converters, { first, rows }, signal);
        return bytes.subarray(offset - first * row, offset - first * row + length);
      },
    },
  };
}

/** Elements of a job at most: a fraction of a second's work. */
const jobElements = 2 ** 18;

/** Converts rows `[first, first + rows)` to blocks of `to`, in parallel jobs. */
async function convertedRows(
  file: GgufFile,
  { tensor, to, importance }: Conversion & { readonly to: QuantizableType },
  converters: Converters,
  { first, rows }: { readonly first: number; readonly rows: number },
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const columns = lastOf(tensor.shape);
  const rowsOfMatrix = elementAt(tensor.shape, tensor.shape.length - 2);
  const [rowIn, rowOut] = [rowBytes(tensor.type, columns), rowBytes(to, columns)];
  const most = Math.max(1, Math.min(Math.ceil(rows / (2 * converters.count)), Math.floor(jobElements / columns)));
  const out = new Uint8Array(rows * rowOut);
  const jobs: Promise<void>[] = [];
  try {
    for (let at = first; at < first + rows; ) {
      signal?.throwIfAborted();
      // Stacked matrices have an importance each.
      const matrix = Math.floor(at / rowsOfMatrix);
      const start = at;
      const count = Math.min(most, first + rows - start, (matrix + 1) * rowsOfMatrix - start);
      const bytes = await file.readTensor(tensor, { offset: start * rowIn, length: count * rowIn, ...(signal && { signal }) });
      const job = {
        from: tensor.type,
        to,
        // A copy: the job's bytes go to another thread, and these may be the source's own.
        bytes: new Uint8Array(bytes),
        importance: importance?.slice(matrix * columns, (matrix + 1) * columns),
      };
      const running = converters.convert(job).then((blocks) => {
        out.set(blocks, (start - first) * rowOut);
        release(blocks);
      });
      // Its failure is heard where all are awaited; until then it must not count as unheard.
      running.catch(() => undefined);
      jobs.push(running);
      at += count;
    }
    // A thread cannot be interrupted in its job.
    await abortable(Promise.all(jobs), signal);
    return out;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof GgufError) throw error;
    const got = error instanceof Error ? error.message : String(error);
    throw new GgufError("corrupt", { expected: `finite numbers in '${shown(tensor.name)}' that ${to} can hold`, got, cause: error });
  }
}
