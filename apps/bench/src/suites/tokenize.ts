import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { readGguf } from "@centella/gguf";
import { createTokenizer } from "@centella/llm";
import { elementAt } from "@centella/quant/checks";
import type { TokenizerRunner } from "../models/competitor.ts";
import { type Contestant, type Row, Skip, type Subject } from "../runner/subject.ts";
import { random } from "../stats/random.ts";
import type { Suite } from "./suite.ts";

const textBytes = 1e6;
/** Number of texts that calls take in turn, so that words of the previous call are not cached. */
const textCount = 8;
/** First code point and count of letters of scripts. */
const scripts = [
  [0x61, 26],
  [0xe0, 31],
  [0x3b1, 24],
  [0x430, 32],
  [0x5d0, 26],
  [0x627, 28],
  [0x905, 52],
  [0x985, 30],
  [0xb85, 40],
  [0xe01, 46],
  [0x10d0, 33],
  [0x3041, 83],
  [0x30a1, 86],
  [0x4e00, 20_000],
  [0xac00, 11_172],
  [0x1f600, 60],
] as const;
const separators = [" ", " ", " ", ", ", ". ", "\n", "  ", "! ", "-"];

/** Megabytes of text per second through a file's tokenizer. */
export const tokenize: Suite = {
  name: "tokenize",
  summary: "texts to ids by models' tokenizers",
  rows({ kind, modelCompetitors, models }) {
    if (kind !== "cpu") return [];
    const peers = modelCompetitors.flatMap(({ name, side, openTokenizer }) => (openTokenizer ? [{ name, side, open: openTokenizer }] : []));
    const all = [{ name: "llm", side: "ours", open: openOurs } as const, ...peers];
    return models.flatMap((file) =>
      Object.entries({ english, mixed }).map(([id, make]): Row => {
        let texts: readonly string[] | undefined;
        const textOf = (index: number): string => {
          texts ??= Array.from({ length: textCount }, (_, i) => make(i + 1));
          return elementAt(texts, index % textCount);
        };
        let expected: number | undefined;
        return {
          id: `${basename(file, ".gguf")} ${id}`,
          metric: "MB/s",
          bound: "none",
          work: { bytes: textBytes },
          data: "-",
          isLarge: false,
          contestants: all.map(
            ({ name, side, open }): Contestant => ({ name, side, threads: 1, prepare: () => subjectOf(() => open(file), textOf) }),
          ),
          verify({ 0: count }) {
            expected ??= count;
            return count === expected ? undefined : `${count} ids of a text, where ours are ${expected}`;
          },
        };
      }),
    );
  },
};

async function subjectOf(open: () => Promise<TokenizerRunner>, textOf: (index: number) => string): Promise<Subject> {
  const tokenizer = await open();
  let next = 0;
  return {
    async sample(calls: number): Promise<number> {
      let seconds = 0;
      for (let i = 0; i < calls; i++) {
        const text = textOf(next++);
        const start = performance.now();
        tokenizer.tokenize(text);
        seconds += (performance.now() - start) / 1e3;
      }
      return seconds;
    },
    result: async () => [tokenizer.tokenize(textOf(0)).length],
    dispose: () => tokenizer.dispose(),
  };
}

async function openOurs(file: string): Promise<TokenizerRunner> {
  await using gguf = await readGguf(file);
  try {
    const tokenizer = createTokenizer(gguf.metadata);
    return { tokenize: (text) => tokenizer.encode(text, { addSpecial: false }), dispose: async () => undefined };
  } catch (error) {
    throw new Skip((error as Error).message);
  }
}

/** The sentences of this repository's documents in a random order. */
function english(seed: number): string {
  const draw = random(seed);
  const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "packages/core/README.md", "packages/llm/README.md"];
  const sentences = documents.flatMap((path) =>
    readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8").split(/(?<=[.:;]\s)/),
  );
  return filled(() => elementAt(sentences, Math.floor(draw() * sentences.length)));
}

/** Random words of random scripts. */
function mixed(seed: number): string {
  const draw = random(seed);
  const below = (count: number): number => Math.floor(draw() * count);
  return filled(() => {
    const [first, letters] = elementAt(scripts, below(scripts.length));
    const word = Array.from({ length: 1 + below(9) }, () => String.fromCodePoint(first + below(letters)));
    return word.join("") + elementAt(separators, below(separators.length));
  });
}

/** Concatenated parts, of about {@link textBytes} bytes. */
function filled(part: () => string): string {
  const parts: string[] = [];
  for (let bytes = 0; bytes < textBytes; ) {
    const next = part();
    parts.push(next);
    bytes += Buffer.byteLength(next);
  }
  return parts.join("");
}
