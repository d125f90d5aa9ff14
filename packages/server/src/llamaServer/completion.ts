import type { Prompt } from "@centella/llm";
import { placementOf } from "../fields/llamaServer.ts";
import { promptOf, promptsOf } from "../fields/prompts.ts";
import { Answer } from "../generation/answer.ts";
import { type Call, json, type Route, route } from "../http/route.ts";
import { serverSentEvents, streamResponse } from "../http/streamResponse.ts";
import { openaiForm } from "../openai/form.ts";
import { type CompletionBody, completionFields, completionOptions, gapOf, infillFields } from "./completionFields.ts";
import { textLines, wholeTexts } from "./completionText.ts";

async function respond(call: Call, body: CompletionBody, prompts: readonly Prompt[]): Promise<Response> {
  const { model, stream } = body;
  const answer = await Answer.start(call, { model, prompts, options: completionOptions(body), ...placementOf(body) });
  if (!stream) return json(await wholeTexts(answer, body));
  return streamResponse(call, answer, textLines(answer, body), serverSentEvents(openaiForm));
}

export const completion: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/completion", "/completions"],
  summary: "Continues texts, as llama-server does.",
  fields: completionFields,
  handle: (call, body) => respond(call, body, promptsOf(body.prompt).map(promptOf)),
});

export const infill: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/infill"],
  summary: "Fills the gap in a text, as llama-server does.",
  fields: infillFields,
  handle: (call, body) => respond(call, body, [gapOf(body)]),
});
