import { apiErrorOf } from "../../errors.ts";
import type { Answer } from "../../generation/answer.ts";
import type { AnswerFinish, AnswerPart } from "../../generation/answerParts.ts";
import { tokenLogprobs } from "../../generation/tokenLogprobs.ts";
import { serverSentEvent } from "../../http/apiForm.ts";
import type { ResponseBody } from "./fields.ts";
import { type ItemEvent, idOf, ResponseItems } from "./items.ts";

/** What a response says about itself and its request. */
function headOf({ lease }: Answer, body: ResponseBody): object {
  return {
    id: idOf("resp"),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    model: lease.name,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    store: false,
    temperature: body.temperature ?? null,
    text: { format: body.text?.format ?? { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? "disabled",
  };
}

function usageOf({ usage, reasoningTokens }: AnswerFinish): object {
  const { promptTokens, cachedTokens, completionTokens } = usage;
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  };
}

/** The events of a response, with those of a part together. The last one has the whole response; a failure is thrown. */
async function* responseEvents(
  answer: Answer,
  head: object,
  { reasoning }: ResponseBody,
): AsyncGenerator<readonly ItemEvent[], void, undefined> {
  const items = new ResponseItems((reasoning?.summary ?? reasoning?.generate_summary) != null);
  const begun = { ...head, status: "in_progress", output: [], usage: null };
  yield [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
  ];
  for await (const { part } of answer.parts()) {
    if (part.type !== "finish") {
      const events = [...eventsOf(part, items, answer)];
      if (events.length > 0) yield events;
      continue;
    }
    const isCut = part.kind === "length";
    const status = isCut ? "incomplete" : "completed";
    const ends = [...items.end(status)];
    const details = isCut ? { incomplete_details: { reason: "max_output_tokens" } } : {};
    yield [...ends, { type: `response.${status}`, response: { ...head, ...details, status, output: items.output, usage: usageOf(part) } }];
  }
}

function* eventsOf(part: Exclude<AnswerPart, AnswerFinish>, items: ResponseItems, answer: Answer): Generator<ItemEvent, void, undefined> {
  switch (part.type) {
    case "prefill":
      return;
    case "reasoning":
      yield* items.add("reasoning", part.text);
      return;
    case "commentary":
      // Harmony's messages to tools are no text.
      if (part.recipient === undefined) yield* items.add("message", part.text);
      return;
    case "text":
      yield* items.add("message", part.text, part.logprobs && tokenLogprobs(answer.lease.model.tokenizer, part.logprobs));
      return;
    case "toolCall":
      yield* items.addCall(part);
  }
}

/** The whole response. @throws {ApiError} if the generation fails */
export async function wholeResponse(answer: Answer, body: ResponseBody): Promise<object> {
  let response: unknown;
  for await (const events of responseEvents(answer, headOf(answer, body), body)) response = events.at(-1)!.response ?? response;
  return response as object;
}

/** The numbered events of a response. A failure becomes the last event, and `report` gets the error. */
export async function* sentEvents(
  answer: Answer,
  body: ResponseBody,
  report: (error: unknown) => void,
): AsyncGenerator<string, void, undefined> {
  let number = 0;
  const sent = (event: ItemEvent): string => serverSentEvent({ ...event, sequence_number: number++ }, event.type);
  const head = headOf(answer, body);
  try {
    for await (const events of responseEvents(answer, head, body)) yield events.map(sent).join("");
  } catch (thrown) {
    report(thrown);
    const { code, message } = apiErrorOf(thrown);
    yield sent({ type: "response.failed", response: { ...head, status: "failed", error: { code, message }, output: [], usage: null } });
  }
}
