import { bytes, choice, combine, type Expression, type Grammar, type Item, optional, repeat, sequence } from "@centella/grammar";
import { opensReasoning, type ReasoningFormat, type ReasoningTags } from "../chat/reasoning.ts";
import { type Markup, whiteSpace } from "./markup.ts";

/** What surrounds an answer in a generated text. */
export interface Surroundings {
  /** End of the prompt: some templates open the reasoning themselves. */
  readonly promptEnd: string;
  readonly markup: Markup;
  /** Whether the grammar of the answer has the headers of Harmony's messages already. */
  readonly isHarmonyWhole: boolean;
}

/** The tags that texts may have as single tokens. */
export function markupOf(format: ReasoningFormat | undefined): readonly string[] {
  if (format === undefined || format === "harmony") return [""];
  return [format.open, format.close, format.answer, format.answerClose].filter((tag) => tag !== undefined);
}

/** Texts whose answer matches the grammar: after a thought that the prompt opened or the model opens, and within the tags of answers. */
export function withReasoning(grammar: Grammar, format: ReasoningFormat | undefined, surroundings: Surroundings): Grammar {
  if (format === undefined) return grammar;
  return combine({ grammar }, ({ grammar: answer }) =>
    format === "harmony" ? inChannels(answer, surroundings) : inTags(answer, format, surroundings),
  );
}

function inTags(answer: Expression, tags: ReasoningTags, { promptEnd, markup }: Surroundings): Expression {
  const tagged = (before: Item): Expression => {
    if (tags.answer === undefined) return sequence([before, answer]);
    const close = tags.answerClose === undefined ? [] : [optional(sequence([whiteSpace, markup.item(tags.answerClose)]))];
    return sequence([before, choice([answer, sequence([markup.item(tags.answer), whiteSpace, answer, ...close])])]);
  };
  const rest = sequence([markup.textUntil(tags.close), tagged(whiteSpace)]);
  return opensReasoning(tags, promptEnd) ? rest : choice([tagged(""), sequence([markup.item(tags.open), rest])]);
}

/** Messages of the Harmony format: thoughts, and then the answer. The prompt ends with the role of the first one. */
function inChannels(answer: Expression, { markup, isHarmonyWhole }: Surroundings): Expression {
  const final = isHarmonyWhole
    ? answer
    : sequence([markup.item("<|channel|>final"), constrained(markup), markup.item("<|message|>"), answer]);
  const message = (channel: string): Expression =>
    sequence([markup.item(`<|channel|>${channel}<|message|>`), markup.textUntil("<|end|>"), markup.item("<|start|>assistant")]);
  const thoughts = repeat(choice([message("analysis"), message("commentary")]), 0, maxMessages);
  return sequence([thoughts, final]);
}

/** Most messages before the answer. */
const maxMessages = 8;

/** The name of a format, which a header may have. */
function constrained(markup: Markup): Expression {
  const word = repeat(
    bytes([
      [0x41, 0x5a],
      [0x61, 0x7a],
    ]),
    1,
    16,
  );
  return optional(sequence([" ", markup.item("<|constrain|>"), word]));
}
