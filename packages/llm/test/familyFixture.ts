import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type FileToWrite, type WritableValue, writeGguf } from "../../gguf/test/writer.ts";

/** Results of llama.cpp for a tiny model of a family; `scripts/family_goldens.py` writes them. */
export interface FamilyGolden {
  readonly oracle: string;
  /** Relative error of logits that rounding explains, in models of many layers whose GELU both sides take from f16 values. */
  readonly tolerance?: number;
  readonly metadata: readonly (readonly [key: string, type: string, value: WritableValue | readonly WritableValue[]])[];
  /** Shapes of tensors by name; `*` stands for every layer. */
  readonly tensors: Readonly<Record<string, readonly number[]>>;
  readonly ids: readonly number[];
  /** Logits of every position, f32 in base64, if the model has logits. */
  readonly logits?: string;
  /** Positions whose logits the golden has. Default: all. */
  readonly rows?: readonly number[];
  /** Tokens whose logits are the lowest f32 and are left out, from the first one up to the one after the last. */
  readonly hidden?: readonly [number, number];
  /** What a decoder generates after its first token, if the model has an encoder, which reads `ids`; and the logits of all tokens but the last. */
  readonly text?: readonly number[];
  readonly textLogits?: string;
  /** Logits of the block that predicts the token after the next one, for all `ids` but the last, or for the last of these that llama.cpp has. */
  readonly nextn?: string;
  /** Embeddings of every position, and the pooled ones, if the model embeds. */
  readonly tokens?: string;
  readonly mean?: string;
  readonly cls?: string;
  readonly last?: string;
  /** Scores of documents, and the ids of each pair with the query, if the model ranks. */
  readonly ranked?: {
    readonly query: string;
    readonly documents: readonly string[];
    readonly ids: readonly (readonly number[])[];
    readonly scores: readonly number[];
  };
}

type Entry = FamilyGolden["metadata"][number];

/** The least finite f32, which hides a logit. */
const lowest = -3.4028234663852886e38;

const directory = fileURLToPath(new URL("fixtures/families", import.meta.url));

/** Names of the models. */
export const familyGoldens: readonly string[] = readdirSync(directory)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.slice(0, -".json".length));

export function readFamilyGolden(name: string): FamilyGolden {
  return JSON.parse(readFileSync(`${directory}/${name}.json`, "utf8")) as FamilyGolden;
}

/** Further keys that llama.cpp (`llama_model_save_to_file`) writes to every file, without the architecture's name. Most are 0, for "not set". */
const writersDefaults = JSON.parse(readFileSync(`${directory}/../savedMetadata.json`, "utf8")) as readonly Entry[];

/** The golden with the metadata that llama.cpp's own writer adds. */
export function withWritersDefaults(golden: FamilyGolden): FamilyGolden {
  const [, , architecture] = golden.metadata.find(([key]) => key === "general.architecture")!;
  const own = new Set(golden.metadata.map(([key]) => key));
  const rest = writersDefaults.map(([key, type, value]): Entry => [`${String(architecture)}.${key}`, type, value]);
  return { ...golden, metadata: [...golden.metadata, ...rest.filter(([key]) => !own.has(key))] };
}

/** The bytes of the model's file. */
export function familyModel(golden: Pick<FamilyGolden, "metadata" | "tensors">): Uint8Array<ArrayBuffer> {
  return writeGguf(familyFile(golden));
}

/** The model as a file, with the same weights as llama.cpp had: those of the names with the prefix. */
export function familyFile(
  { metadata, tensors }: Pick<FamilyGolden, "metadata" | "tensors">,
  prefix = "",
): Required<Pick<FileToWrite, "metadata" | "tensors">> {
  const layers = Number(metadata.find(([key]) => key.endsWith(".block_count"))![2]);
  return {
    metadata: metadata.map(([key, type, value]) => {
      if (!type.endsWith("[]") && type !== "strings") return [key, type as "u32", value as WritableValue];
      const of = type === "strings" ? "string" : (type.slice(0, -2) as "u32");
      return [key, "array", { of, values: value as readonly WritableValue[] }];
    }),
    tensors: everyLayer(tensors, layers).map(({ name, shape }) => ({
      name,
      type: name.endsWith("tid2eid.weight") ? "i32" : name === "d2t" ? "i64" : "f32",
      shape,
      data: new Uint8Array(weights(prefix + name, shape).buffer),
    })),
  };
}

/** Kinds of vocabularies, as `tokenizer.ggml.model` names them. */
export const vocabularyKinds = ["llama", "gpt2", "bert", "t5", "rwkv", "plamo2"] as const;
const vocabularyLength = 40;

/** The model with a vocabulary, so that it generates. */
export function withVocabulary<T extends Pick<FamilyGolden, "metadata">>(golden: T, kind: (typeof vocabularyKinds)[number] = "llama"): T {
  const special = kind === "bert" ? ["[UNK]", "[CLS]", "[SEP]"] : ["<unk>", "<s>", "</s>"];
  const tokens = [...special, ...words[kind]()];
  return {
    ...golden,
    metadata: [
      ...golden.metadata.filter(([key]) => !key.startsWith("tokenizer.") || key.endsWith("mask_token_id")),
      ["tokenizer.ggml.model", "string", kind],
      ["tokenizer.ggml.tokens", "strings", tokens],
      ["tokenizer.ggml.scores", "f32[]", tokens.map((_, i) => -i)],
      ["tokenizer.ggml.token_type", "i32[]", tokens.map((_, i) => (i < special.length ? 3 : 1))],
      ["tokenizer.ggml.bos_token_id", "u32", 1],
      ["tokenizer.ggml.eos_token_id", "u32", 2],
      ["tokenizer.ggml.unknown_token_id", "u32", 0],
      ["tokenizer.ggml.seperator_token_id", "u32", 2],
      ...(kind === "gpt2" ? merges : []),
    ],
  };
}

const merges: readonly Entry[] = [
  ["tokenizer.ggml.pre", "string", "gpt-2"],
  ["tokenizer.ggml.merges", "strings", ["a b", "\u0120 a", "\u0120a b"]],
];

const letters = Array.from({ length: 26 }, (_, i) => String.fromCodePoint(97 + i));
/** Tokens that are not special, {@link vocabularyLength} with the three that are. */
const words: Readonly<Record<(typeof vocabularyKinds)[number], () => readonly string[]>> = {
  llama: () => Array.from({ length: vocabularyLength - 3 }, (_, i) => `\u2581${letters[i % 26]}${i}`),
  gpt2: () => [...letters, "\u0120", "ab", "\u0120a", "\u0120ab", "!", "?", ".", ",", "0", "1", "\u010a"],
  bert: () => [...letters.map((letter) => `\u2581${letter}`), "a", "b", "c", "\u2581ab", "!", "?", ".", ",", "0", "1", "2"],
  t5: () => [...letters, "\u2581", "\u2581a", "\u2581ab", "ab", "!", "?", ".", ",", "0", "1", "2"],
  rwkv: () => [...letters, " a", " ab", "ab", "!", "?", ".", ",", "\\n", "\\x80", "\\\\", "2"],
  plamo2: () => [...letters, " ", " a", " ab", "ab", "!", "?", ".", ",", "0", "1", "2"],
};

/** Tensors by name, with an entry for each layer instead of `*`. */
export function everyLayer(
  tensors: FamilyGolden["tensors"],
  layers: number,
): { readonly name: string; readonly shape: readonly number[] }[] {
  return Object.entries(tensors).flatMap(([name, shape]) =>
    Array.from({ length: name.includes("*") ? layers : 1 }, (_, layer) => ({ name: name.replace("*", String(layer)), shape })),
  );
}

export function floats(base64: string): Float32Array {
  return new Float32Array(new Uint8Array(Buffer.from(base64, "base64")).buffer);
}

/** The logits `[positions, vocabulary]` that the golden has as well. */
export function comparedLogits(logits: Float32Array, { rows, ids }: FamilyGolden): Float32Array {
  if (rows === undefined) return logits;
  const columns = logits.length / ids.length;
  return Float32Array.from(rows.flatMap((row) => [...logits.subarray(row * columns, (row + 1) * columns)]));
}

/** llama.cpp's logits of all tokens. @throws {Error} for a model without logits */
export function expectedLogits({ logits, hidden, rows: positions, ids }: FamilyGolden): Float32Array {
  if (logits === undefined) throw new Error("expected a golden with logits");
  const stored = floats(logits);
  if (hidden === undefined) return stored;
  const [start, end] = hidden;
  const columns = stored.length / (positions ?? ids).length;
  const rows = (positions ?? ids).map((_, row) => {
    const visible = stored.subarray(row * columns, (row + 1) * columns);
    return [...visible.subarray(0, start), ...new Float32Array(end - start).fill(lowest), ...visible.subarray(start)];
  });
  return Float32Array.from(rows.flat());
}

/** The importance matrix of block_types.py: numbers from 0.1 to 1.9 for each column of each weight, stacked experts after one another. */
export function importance(golden: FamilyGolden): ReadonlyMap<string, Float32Array> {
  const matrices = familyFile(golden).tensors.filter(({ shape }) => shape.length > 1);
  return new Map(
    matrices.map(({ name, shape }) => {
      const count = shape.at(-1)! * (shape.length === 3 ? shape[0]! : 1);
      return [name, Float32Array.from(uniform(`importance of ${name}`, count), (x) => 1 + 0.9 * x)];
    }),
  );
}

/** The weights of family_goldens.py: factors near 1, decays below 0, and matrices that keep the magnitude of their input. */
function weights(name: string, shape: readonly number[]): Float32Array | Int32Array | BigInt64Array {
  const u = uniform(
    name,
    shape.reduce((product, extent) => product * extent, 1),
  );
  // Experts of tokens, of which these models have six.
  if (name.endsWith("tid2eid.weight")) return Int32Array.from(u, (x) => Math.floor((x + 1) * 3));
  if (name.endsWith("d2t")) return BigInt64Array.from(u, (_, i) => BigInt(Math.floor(((u.length - 1 - i) * 3) / 2) + 1));
  if (name.endsWith("ssm_a")) return Float32Array.from(u, (x) => -1 - 0.5 * x);
  const isFactor = ["norm.weight", "norm_2.weight", ".scale", "ssm_d", "rope_freqs.weight", "output_scale.weight"].some((end) =>
    name.endsWith(end),
  );
  if (isFactor) return Float32Array.from(u, (x) => 1 + 0.25 * x);
  if (name.endsWith("token_embd.weight")) return Float32Array.from(u);
  if (shape.length === 1) return Float32Array.from(u, (x) => 0.25 * x);
  return Float32Array.from(u, (x) => x * Math.sqrt(3 / shape.at(-1)!));
}

/** Numbers from -1 to 1: FNV-1a of the name, then mulberry32. */
export function uniform(name: string, count: number): Float64Array {
  let seed = 0x811c9dc5;
  for (const character of name) seed = Math.imul(seed ^ character.codePointAt(0)!, 0x01000193);
  let state = seed >>> 0;
  return Float64Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}
