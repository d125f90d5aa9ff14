import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Metadata, readGguf } from "@centella/gguf";
import { describe } from "vitest";
import { createTokenizer, type Tokenizer, type VocabularyMetadata } from "../src/index.ts";

const root = process.env.CENTELLA_SHARED ?? fileURLToPath(new URL("../../../../shared", import.meta.url));

/** Path of outside test data. */
export function shared(...parts: string[]): string {
  return join(root, ...parts);
}

/** Names of the files in a folder of outside test data; none where it is absent. */
export function sharedNames(...folder: string[]): readonly string[] {
  return existsSync(shared(...folder)) ? readdirSync(shared(...folder)).sort() : [];
}

/** `describe`, skipped with the reason in its title where the outside data is absent. */
export function describeShared(title: string, body: () => void): void {
  if (existsSync(shared("data"))) describe(title, body);
  else describe.skip(`${title} (skipped: no outside test data at CENTELLA_SHARED)`, body);
}

export async function metadataOf(path: string): Promise<Metadata> {
  await using file = await readGguf(path);
  return file.metadata;
}

export async function tokenizerOf(path: string): Promise<Tokenizer> {
  return createTokenizer(await metadataOf(path));
}

export function readLines(path: string): string[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

/** Metadata from plain values, for vocabularies made in a test. */
export function fakeMetadata(
  values: Record<string, string | number | boolean | readonly string[] | readonly number[]>,
): VocabularyMetadata {
  const pick = <T>(key: string, is: (value: unknown) => value is T): T | undefined => {
    const value = values[key];
    return is(value) ? value : undefined;
  };
  return {
    optionalString: (key) => pick(key, (value): value is string => typeof value === "string"),
    optionalNumber: (key) => pick(key, (value): value is number => typeof value === "number"),
    optionalBool: (key) => pick(key, (value): value is boolean => typeof value === "boolean"),
    optionalStrings: (key) =>
      pick(key, (value): value is readonly string[] => Array.isArray(value) && value.every((v) => typeof v === "string")),
    optionalNumbers: (key) =>
      pick(key, (value): value is readonly number[] => Array.isArray(value) && value.every((v) => typeof v === "number")),
  };
}

/** Many scripts, joiners, controls and kinds of white space. */
export const multilingual =
  "Straße ½ naïve — Привет, мир! 你好，世界。こんにちは 안녕하세요 नमस्ते สวัสดี שלום مرحبا 🇪🇸👩‍👩‍👧 \u200d\ufeff\u0000\u0085\u3000 e\u0301\r\n\t end";
