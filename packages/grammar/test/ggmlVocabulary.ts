import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { readGguf } from "@centella/gguf";
import { type Vocabulary, vocabulary } from "../src/index.ts";

const folder = join(resolve(process.env.CENTELLA_SHARED ?? resolve(import.meta.dirname, "../../../../shared")), "data/vocab");

/** Whether the outside test data with real vocabularies is there. */
export const hasVocabularies: boolean = existsSync(folder);

/** Tokens of a real vocabulary, each as its bytes; control and unknown tokens apart. */
export interface Tokens {
  readonly bytes: readonly Uint8Array[];
  readonly endIds: readonly number[];
  readonly specialIds: readonly number[];
}

/** `tokenizer.ggml.token_type` of tokens that stand for text. */
const [normal, userDefined, byte] = [1, 4, 6];

/** Reads `ggml-vocab-NAME.gguf`. */
export async function tokensOf(name: string): Promise<Tokens> {
  const { metadata } = await readGguf(join(folder, `ggml-vocab-${name}.gguf`));
  const get = <T>(key: string) => metadata.get(`tokenizer.ggml.${key}`) as T;
  const model = get<string>("model");
  const types = Array.from(get<ArrayLike<number>>("token_type"));
  const bytes = Array.from(get<ArrayLike<string>>("tokens"), (token, id) => bytesOf(model, token, types[id]!));
  const endIds = [get<number | undefined>("eos_token_id") ?? get<number | undefined>("seperator_token_id") ?? 0];
  const specialIds = types.flatMap((type, id) => ([normal, userDefined, byte].includes(type) ? [] : [id]));
  return { bytes, endIds, specialIds };
}

/** The vocabulary of these tokens. */
export function vocabularyOf({ bytes, endIds, specialIds }: Tokens): Vocabulary {
  return vocabulary(bytes, { endIds, specialIds });
}

const encoder = new TextEncoder();

function bytesOf(model: string, token: string, type: number): Uint8Array {
  const hex = /^<0x([0-9A-F]{2})>$/.exec(token);
  if (type === byte && hex !== null) return Uint8Array.of(Number.parseInt(hex[1]!, 16));
  if (model === "gpt2") return byteLevel(token);
  return encoder.encode(token.replaceAll("\u2581", " "));
}

/** GPT-2's characters for bytes: printable Latin-1 stands for itself, other bytes are U+0100 and so on in order. */
const byteOf = new Map<string, number>();
for (let value = 0, next = 0x100; value < 256; value++) {
  const isPrintable = (value >= 0x21 && value <= 0x7e) || (value >= 0xa1 && value <= 0xac) || value >= 0xae;
  byteOf.set(String.fromCharCode(isPrintable ? value : next++), value);
}

function byteLevel(token: string): Uint8Array {
  const chars = [...token];
  return chars.every((char) => byteOf.has(char)) ? Uint8Array.from(chars, (char) => byteOf.get(char)!) : encoder.encode(token);
}
