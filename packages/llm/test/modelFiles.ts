import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { contentOf, readGguf, type WritableEntry, writeGguf } from "@centella/gguf";
import { shared } from "./shared.ts";

/** The 2 M storyteller of this repository: byte-level BPE, chat template, tied Q8_0 embeddings, grouped queries. */
export const tiny: string = fileURLToPath(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

/** A line of a `greedy.jsonl`: what llama.cpp generated at temperature 0. */
export interface Greedy {
  readonly model: string;
  readonly prompt_ids: readonly number[];
  readonly out: readonly number[];
  readonly min_top1_top2_gap: number;
}

export const hasShared: boolean = existsSync(shared("data"));

export function greedyRuns(...path: string[]): readonly Greedy[] {
  if (!hasShared) return [];
  return readFileSync(shared(...path), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Greedy);
}

/** The places where llama.cpp's portable build, fed a run's ids, chooses another than was recorded; `scripts/greedy_choices.py` writes them. */
export function portableChoices({ model, prompt_ids }: Greedy): Readonly<Record<number, number>> | undefined {
  const choices = JSON.parse(readFileSync(new URL("fixtures/greedyChoices.json", import.meta.url), "utf8")) as Record<
    string,
    Readonly<Record<number, number>>
  >;
  return choices[`${model} ${prompt_ids.join(" ")}`];
}

export function readFloats(...path: string[]): Float32Array {
  return new Float32Array(new Uint8Array(readFileSync(shared(...path))).buffer);
}

export function readIds(...path: string[]): number[] {
  return readFileSync(shared(...path), "utf8")
    .split(/[\s,]+/)
    .filter((text) => text !== "")
    .map(Number);
}

/** Index of the largest value in each row. */
export function argmaxRows(logits: Float32Array, width: number): number[] {
  return Array.from({ length: logits.length / width }, (_, row) => {
    const values = logits.subarray(row * width, (row + 1) * width);
    return values.indexOf(Math.max(...values));
  });
}

/** A file's bytes with the first occurrence of some bytes after an anchor replaced by as many others. */
export function patched(path: string, ...edits: readonly (readonly [from: string | Uint8Array, to: string | Uint8Array])[]): Uint8Array {
  const bytes = Buffer.from(readFileSync(path));
  for (const [from, to] of edits) {
    const [a, b] = [Buffer.from(from), Buffer.from(to)];
    const at = bytes.indexOf(a);
    if (at < 0 || a.length !== b.length) throw new Error(`cannot replace ${a.toString()} by ${b.toString()} in ${path}`);
    b.copy(bytes, at);
  }
  return bytes;
}

/** A metadata entry of type u32 as its bytes: key, type, value. */
export function u32Entry(key: string, value: number): Uint8Array {
  const u32 = 4;
  return Buffer.concat([Buffer.from(key), Buffer.from(Uint32Array.of(u32, value).buffer)]);
}

/** A file's bytes with more metadata. */
export async function withMetadata(path: string, entries: readonly WritableEntry[]): Promise<Uint8Array> {
  await using file = await readGguf(path);
  const content = contentOf(file);
  const kept = content.metadata.filter(({ key }) => !entries.some((entry) => entry.key === key));
  const pieces: Uint8Array[] = [];
  const sink = { write: async (bytes: Uint8Array) => void pieces.push(Uint8Array.from(bytes)) };
  await writeGguf(sink, { ...content, metadata: [...kept, ...entries] });
  return Buffer.concat(pieces);
}
