import * as z from "zod/mini";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";
import { chatMessages, messagesField } from "../openai/messages.ts";

const used = {
  model: z.optional(z.string()),
  messages: messagesField,
  add_generation_prompt: z.optional(z.boolean()),
  chat_template_kwargs: z.optional(z.record(z.string(), z.unknown())),
};

export const applyTemplate: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/apply-template"],
  summary: "The prompt that the chat template makes of messages.",
  fields: { used },
  async handle(
    { services },
    { model: name, messages, add_generation_prompt: addGenerationPrompt = true, chat_template_kwargs: variables = {} },
  ) {
    const options = { addGenerationPrompt, variables };
    const prompt = await services.models.with(name, ({ model }) => model.chatTemplate.render(chatMessages(messages), options));
    return json({ prompt });
  },
});
