import { readFileSync } from "node:fs";
import { random } from "@centella/conformance";
import { GrammarError } from "@centella/grammar";
import { describe, expect, test } from "vitest";
import { AnswerConstraint } from "../src/format/answerConstraint.ts";
import { createTokenizer } from "../src/tokenizer/createTokenizer.ts";
import { TextStream } from "../src/tokenizer/textStream.ts";
import type { Tokenizer } from "../src/tokenizer/tokenizer.ts";
import { describedBy } from "./vocabularies.ts";

const goldens = JSON.parse(readFileSync(new URL("fixtures/tokenizers.json", import.meta.url), "utf8")) as Record<
  string,
  { readonly metadata: Readonly<Record<string, unknown>> }
>;

/** Appends tokens that a constraint allows to `ids`, chosen at random. Returns whether the text has ended. */
function extend(ids: number[], constraint: AnswerConstraint, tokenizer: Tokenizer, next: () => number): boolean {
  while (ids.length < 60) {
    const masked = constraint.masked(new Float32Array(tokenizer.vocabSize));
    const allowed = [...masked.keys()].filter((id) => masked[id] === 0);
    const id = allowed[Math.floor(next() * allowed.length)]!;
    if (tokenizer.isEndOfGeneration(id)) return true;
    constraint.accept(id);
    ids.push(id);
  }
  return false;
}

describe.each(Object.entries(goldens))("vocabulary %s", (_, { metadata }) => {
  const tokenizer = createTokenizer(describedBy(metadata));
  const context = { tokenizer, promptIds: [], reasoning: undefined, begun: undefined, signal: undefined };

  test("random texts match in the form in which they are shown", () => {
    if (tokenizer.endOfGenerationIds.length === 0) {
      expect(() => new AnswerConstraint("json", context)).toThrow(/no token that ends a text/);
      return;
    }
    const next = random(7);
    let count = 0;
    for (let i = 0; i < 60; i++) {
      const constraint = new AnswerConstraint({ regex: " {0,2}[a-zé ]{1,6}[.]?" }, context);
      const ids: number[] = [];
      try {
        if (!extend(ids, constraint, tokenizer, next)) continue;
      } catch (error) {
        // These small vocabularies have no token for some bytes.
        expect(error).toMatchObject({ name: GrammarError.name, code: "GRAMMAR_DEAD_END", text: tokenizer.decode(ids) });
        continue;
      }
      const stream = new TextStream(tokenizer);
      const text = ids.map((id) => stream.push(id)).join("") + stream.flush();
      expect(text).toMatch(/^ {0,2}[a-zé ]{1,6}[.]?$/);
      expect(constraint.outcome(text, true)?.complete).toBe(true);
      count++;
    }
    expect(count).toBeGreaterThan(0);
  });
});
