import type { GenerationFinish, GenerationPart } from "@centella/llm";
import type { FinishKind } from "../events.ts";

/** The last part of a text. */
export interface AnswerFinish extends GenerationFinish {
  readonly kind: FinishKind;
  /** Tokens of the reasoning, which `usage.completionTokens` includes. */
  readonly reasoningTokens: number;
}

/** A part of a text. */
export type AnswerPart = Exclude<GenerationPart, GenerationFinish> | AnswerFinish;

/** A part of one of several texts. */
export interface ChoicePart {
  /** Number of the text. The texts of a prompt follow one another. */
  readonly choice: number;
  readonly part: AnswerPart;
}
