import type { GenerateOptions, Prompt } from "@centella/llm";
import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
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

/** Fields that say how an answer is written. */
interface Wishes {
  readonly stream?: boolean | undefined;
  readonly think?: boolean | string | undefined;
}

function canThink({ lease: { model } }: Answer): boolean {
  return model.info.hasChatTemplate && model.chatTemplate.reasoning !== undefined;
}

function refused(param: string, expected: string, got: string): ApiError {
  return new ApiError(400, "unsupported_value", `${param}: expected ${expected}, got ${got}; leave the field out`, { param });
}

/** Answers in lines, unless the request wants the answer as a whole. */
async function respond(call: Call, request: AnswerRequest, form: PieceForm, { stream = true, think }: Wishes): Promise<Response> {
  const answer = await Answer.start(call, request);
  if (think === true && !canThink(answer)) {
    await answer.close();
    throw refused("think", "a model that thinks", "one that does not");
  }
  if (!stream) return json(await wholeAnswer(answer, form));
  return streamResponse(call, answer, answerLines(answer, form), { api: ollamaForm, contentType: "application/x-ndjson" });
}

export const chat: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/chat"],
  summary: "Answers a conversation, as Ollama does.",
  fields: { used: chatFields },
  async handle(call, body) {
    const { tools } = body;
    keepModel(call, body);
    const options: GenerateOptions = {
      ...generationOptions(body),
      ...toolOptions({ tools: tools?.map(({ function: { parameters: schema, ...rest } }) => ({ ...rest, schema })) }),
    };
    return respond(call, { model: modelName(body.model), prompts: [chatMessages(body.messages)], options }, chatForm, body);
  },
});

/** @throws {ApiError} 400 for fields of chats with a text to continue */
function promptOf({ prompt = "", suffix = "", system = "", raw = false, think = false }: BodyOf<typeof generateFields>): Prompt {
  if (suffix !== "" || raw) {
    if (system !== "") throw refused("system", "none with raw or suffix", "one");
    if (think !== false) throw refused("think", "false with raw or suffix", String(think));
    return suffix === "" ? prompt : { prefix: prompt, suffix };
  }
  return [...(system ? [{ role: "system", content: system }] : []), { role: "user", content: prompt }];
}

export const generate: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/generate"],
  summary: "Answers or continues a text, as Ollama does.",
  fields: generateTable,
  async handle(call, body) {
    const { raw = false } = body;
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
    return respond(call, { model, prompts: [promptOf(body)], options }, generateForm, body);
  },
});
