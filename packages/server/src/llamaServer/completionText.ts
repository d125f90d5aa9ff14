import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish, ChoicePart } from "../generation/answerParts.ts";
import { PromptProgress } from "../generation/promptProgress.ts";
import { tokenLogprobs } from "../generation/tokenLogprobs.ts";
import { serverSentEvent } from "../http/apiForm.ts";
import { timingsOf } from "../openai/usage.ts";
import type { CompletionBody } from "./completionFields.ts";

/** What a request wants to read of its texts. */
type Form = Pick<CompletionBody, "n_predict" | "return_progress" | "response_fields">;

/** The texts, by the numbers of their prompts. One text stands for itself. */
export async function wholeTexts(answer: Answer, form: Form): Promise<object> {
  const finishes = await answer.finishes();
  const texts = finishes.map((given, index) => {
    const finish = shown(given, form);
    return selected(
      { content: finish.text, tokens: finish.ids, ...endOf(finish, index, answer), ...probabilitiesOf(finish, answer) },
      form,
    );
  });
  return texts.length === 1 ? texts[0]! : texts;
}

/** The texts in lines, each with a piece of one of them. */
export async function* textLines(answer: Answer, form: Form): AsyncGenerator<string, void, undefined> {
  const progress = new PromptProgress();
  for await (const each of answer.parts()) {
    const line = lineOf(each, answer, form, progress);
    if (line !== undefined) yield serverSentEvent(line);
  }
}

function lineOf({ choice: index, part }: ChoicePart, answer: Answer, form: Form, progress: PromptProgress): object | undefined {
  const common = { index, content: "", tokens: [], stop: false };
  switch (part.type) {
    case "prefill":
      return form.return_progress ? { ...common, ...progress.of(index, part) } : undefined;
    case "text":
      return form.n_predict === 0 ? undefined : { ...common, content: part.text, tokens: part.ids, ...probabilitiesOf(part, answer) };
    case "finish":
      return selected({ ...common, ...endOf(shown(part, form), index, answer) }, form);
    default:
      return undefined;
  }
}

/** A finish without the token of a request for none. */
function shown(finish: AnswerFinish, { n_predict: limit }: Form): AnswerFinish {
  if (limit !== 0) return finish;
  return { ...finish, kind: "length", reason: "length", text: "", ids: [], usage: { ...finish.usage, completionTokens: 0 } };
}

/** What llama-server says about a text that has ended. */
function endOf(finish: AnswerFinish, index: number, { lease, slotId }: Answer): object {
  const { usage, stop, reason } = finish;
  return {
    index,
    stop: true,
    id_slot: index === 0 ? slotId : -1,
    model: lease.name,
    tokens_predicted: usage.completionTokens,
    tokens_evaluated: usage.promptTokens,
    tokens_cached: usage.cachedTokens,
    truncated: usage.truncatedTokens > 0,
    stop_type: stop !== undefined ? "word" : reason === "eos" ? "eos" : "limit",
    stopping_word: stop ?? "",
    timings: timingsOf(finish),
  };
}

function probabilitiesOf({ logprobs }: Pick<AnswerFinish, "logprobs">, { lease }: Answer): object {
  return logprobs === undefined ? {} : { completion_probabilities: tokenLogprobs(lease.model.tokenizer, logprobs) };
}

/** The fields that a request names. Paths that lead nowhere are left out. */
function selected(text: object, { response_fields: names = [] }: Form): object {
  if (names.length === 0) return text;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = name.split("/").reduce<unknown>(childOf, text);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function childOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}
