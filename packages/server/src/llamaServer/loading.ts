import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

const used = { model: z.string() };

export const loadRoute: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/models/load"],
  summary: "Loads a model before the first request needs it.",
  fields: { used },
  async handle({ services }, { model }) {
    await services.models.with(model, () => undefined);
    return json({ success: true });
  },
});

export const unloadRoute: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/models/unload"],
  summary: "Unloads a model that no request uses. The next request loads it again.",
  fields: { used },
  async handle({ services }, { model }) {
    const wasUnloaded = await services.models.entry(model).unload();
    if (!wasUnloaded)
      throw new ApiError(400, "unsupported_value", `model: expected a model that the server has loaded and no request uses, got ${model}`, {
        param: "model",
      });
    return json({ success: true });
  },
});
