import { placementOf } from "../../fields/llamaServer.ts";
import { Answer } from "../../generation/answer.ts";
import { countTokens } from "../../generation/countTokens.ts";
import { json, type Route, route } from "../../http/route.ts";
import { reportFailure, serverSentEvents, streamResponse } from "../../http/streamResponse.ts";
import { openaiForm } from "../form.ts";
import { responseFields, responseOptions } from "./fields.ts";
import { chatMessages } from "./input.ts";
import { sentEvents, wholeResponse } from "./responseEvents.ts";

export const responses: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/responses", "/responses"],
  summary: "Answers a conversation of items. Responses are not stored.",
  fields: responseFields,
  async handle(call, body) {
    const { model, input, instructions } = body;
    const answer = await Answer.start(call, {
      model,
      prompts: [chatMessages(input, instructions)],
      options: responseOptions(body),
      ...placementOf(body),
    });
    if (!body.stream) return json(await wholeResponse(answer, body));
    const events = sentEvents(answer, body, (error) => reportFailure(call.services.events, call.requestId, error));
    return streamResponse(call, answer, events, { ...serverSentEvents(openaiForm), preamble: 1 });
  },
});

export const responseInputTokens: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/v1/responses/input_tokens", "/responses/input_tokens"],
  summary: "Counts the tokens of a conversation of items.",
  fields: responseFields,
  async handle(call, body) {
    const prompt = chatMessages(body.input, body.instructions);
    const count = await countTokens(call, { model: body.model, prompt, options: responseOptions(body) });
    return json({ object: "response.input_tokens", input_tokens: count });
  },
});
