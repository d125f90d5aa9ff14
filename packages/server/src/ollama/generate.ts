import type { GenerateOptions, Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { Answer, type AnswerRequest } from "../generation/answer.ts";
import { toolOptions } from "../generation/tools.ts";
import type { BodyOf, FieldTable } from "../http/fields.ts";
import { type Call, json, type Route, route } from "../http/route.ts";
import { streamResponse } from "../http/streamResponse.ts";
import { answerLines, chatForm, generateForm, type PieceForm, wholeAnswer } from "./answerLines.ts";
import { generationFields, generationOptions } from "./fields.ts";
import { ollamaForm } from "./form.ts";
import { isUnload, keepModel } from "./keepAlive.ts";
import { chatMessages, imagesField, messagesField, toolsField } from "./messages.ts";
import { modelName } from "./modelName.ts";

const chatFields = { ...generationFields, messages: messagesField, tools: z.optional(toolsField) };

const generateFields = {
  ...generationFields,
  prompt: z.optional(z.string()),
  /** Text after the gap that the answer fills. */
  suffix: z.optional(z.string()),
  system: z.optional(z.string()),
  /** Continue the prompt instead of answering it. */
  raw: z.optional(z.boolean()),
};

const generateTable: FieldTable<typeof generateFields> = {
  used: generateFields,
  ignored: {
    images: imagesField,
    template: z.optional(z.literal("", { error: "expected none; the model's own template is used" })),
  },
  refused: { context: "send the messages to /api/chat", width: "images are not generated", height: "images are not generated" },
};

/** Answers in lines, unless the request wants the answer as a whole. */
async function respond(call: Call, request: AnswerRequest, form: PieceForm, isStream: boolean): Promise<Response> {
  const answer = await Answer.start(call, request);
  if (!isStream) return json(await wholeAnswer(answer, form));
  return streamResponse(call, answer, answerLines(answer, form), { api: ollamaForm, contentType: "application/x-ndjson" });
}

export const chat: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/chat"],
  summary: "Answers a conversation, as Ollama does.",
  fields: { used: chatFields },
  async handle(call, body) {
    const { tools, stream = true } = body;
    keepModel(call, body);
    const options: GenerateOptions = {
      ...generationOptions(body),
      ...toolOptions({ tools: tools?.map(({ function: { parameters: schema, ...rest } }) => ({ ...rest, schema })) }),
    };
    return respond(call, { model: modelName(body.model), prompts: [chatMessages(body.messages)], options }, chatForm, stream);
  },
});

function promptOf({ prompt = "", suffix, system, raw }: BodyOf<typeof generateFields>): Prompt {
  if (suffix !== undefined && suffix !== "") return { prefix: prompt, suffix };
  if (raw) return prompt;
  return [...(system ? [{ role: "system", content: system }] : []), { role: "user", content: prompt }];
}

export const generate: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/generate"],
  summary: "Answers or continues a text, as Ollama does.",
  fields: generateTable,
  async handle(call, body) {
    const { stream = true, raw = false } = body;
    const model = modelName(body.model);
    keepModel(call, body);
    // A request without a prompt loads the model, or unloads it.
    if (body.prompt === undefined || body.prompt === "") {
      const done = isUnload(body) ? "unload" : "load";
      const { models } = call.services;
      await (done === "unload" ? models.entry(model).unload() : models.with(model, () => undefined));
      return json({ model, created_at: new Date().toISOString(), response: "", done: true, done_reason: done });
    }
    const options = { ...generationOptions(body), ...(raw && { raw }) };
    return respond(call, { model, prompts: [promptOf(body)], options }, generateForm, stream);
  },
});
