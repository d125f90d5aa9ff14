import type { ChosenLogprob, GenerationFinish } from "@centella/llm";
import type { EngineModel } from "@centella/llm/store";
import type { Remote } from "comlink";
import type { AllowedTokens, ModelVocabulary, Token } from "../workers/vocabulary.ts";

/** An answer that a schema enforces, so far. */
export interface StructuredAnswer {
  readonly text: string;
  /** The value so far. */
  readonly value: unknown;
  readonly finish: GenerationFinish | undefined;
  readonly logprobs: readonly ChosenLogprob[];
  /** The tokens of the answer, when it is over. */
  readonly tokens: readonly Token[];
  /** What the schema allowed before each of them. */
  readonly allowed: readonly AllowedTokens[];
}

interface StructuredTask {
  readonly model: EngineModel;
  readonly vocabulary: Remote<ModelVocabulary>;
  readonly prompt: string;
  readonly schema: { readonly [keyword: string]: unknown };
  readonly signal: AbortSignal;
}

/** Most tokens of an answer, so that one without an end ends. */
const maxTokens = 400;

/** Writes an answer, and then looks up what was allowed at each of its tokens. Shows the answer as it grows. */
export async function generateStructured(
  { model, vocabulary, prompt, schema, signal }: StructuredTask,
  show: (answer: StructuredAnswer) => void,
): Promise<StructuredAnswer> {
  const ids: number[] = [];
  let answer: StructuredAnswer = { text: "", value: undefined, finish: undefined, logprobs: [], tokens: [], allowed: [] };
  const parts = model.createSession().generate(prompt, { format: { schema }, partial: true, logprobs: 0, maxTokens, signal });
  for await (const part of parts) {
    if (part.type === "text") {
      ids.push(...part.ids);
      answer = { ...answer, text: answer.text + part.text, value: part.partial, logprobs: [...answer.logprobs, ...(part.logprobs ?? [])] };
    } else if (part.type === "finish") {
      answer = { ...answer, finish: part, value: part.value ?? answer.value };
    }
    show(answer);
  }
  const [tokens, allowed] = await Promise.all([vocabulary.tokens(ids), vocabulary.allowed(schema, ids)]);
  return { ...answer, tokens, allowed };
}
