import type { Answer } from "../generation/answer.ts";
import type { AnswerFinish } from "../generation/answerParts.ts";
import { tokenLogprobs } from "../generation/tokenLogprobs.ts";
import { completionHead } from "./completionHead.ts";
import { timingsOf, usageOf } from "./usage.ts";

/** A chat completion, when all its texts have ended. */
export async function chatCompletion(answer: Answer, choices: number): Promise<object> {
  const finishes = await answer.finishes();
  return {
    ...completionHead("chatcmpl", "chat.completion", answer),
    choices: finishes.map((finish, index) => ({
      index,
      message: messageOf(finish),
      logprobs: finish.logprobs === undefined ? null : { content: tokenLogprobs(answer.lease.model.tokenizer, finish.logprobs) },
      finish_reason: finish.kind,
    })),
    usage: usageOf(finishes, choices),
    timings: timingsOf(finishes[0]!),
  };
}

/** The answer as a message of the conversation. */
function messageOf({ text, reasoning, toolCalls, commentary = [] }: AnswerFinish): object {
  const content =
    commentary
      .filter(({ recipient }) => recipient === undefined)
      .map((each) => each.text)
      .join("") + text;
  return {
    role: "assistant",
    content: content === "" && toolCalls !== undefined ? null : content,
    refusal: null,
    ...(reasoning && { reasoning_content: reasoning }),
    ...(toolCalls !== undefined && {
      tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    }),
  };
}
