import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { json, type Route, route } from "../http/route.ts";
import { streamResponse } from "../http/streamResponse.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { ollamaForm } from "./form.ts";
import { modelField, modelName } from "./modelName.ts";
import { nameFields, nameOf } from "./models.ts";

export const pull: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/pull"],
  summary: "Downloads a model, if the server allows it, and says when the model is there.",
  fields: { used: { ...nameFields, stream: z.optional(z.boolean()) }, ignored: { insecure: z.optional(z.boolean()) } },
  async handle(call, body) {
    const { models } = call.services;
    const given = nameOf(body);
    const { library } = models;
    const name = library?.nameOf(given);
    if (library === undefined || name === undefined) {
      models.entry(given);
      return json({ status: "success" });
    }
    // Few servers have a library.
    const { Download } = await import("./download.ts");
    const download = new Download(call, library, name);
    if (body.stream !== false)
      return streamResponse(call, download, download.chunks(), { api: ollamaForm, contentType: "application/x-ndjson" });
    for await (const _ of download.chunks());
    return json({ status: "success" });
  },
});

/** @throws {ApiError} 501 unless requests may change the models */
function requireLibrary({ library }: ModelStore, path: string): void {
  if (library === undefined)
    throw new ApiError(501, "not_enabled", `${path}: expected a server whose models requests may change, got one that is configured`);
}

export const remove: Route = route({
  api: ollamaForm,
  method: "DELETE",
  paths: ["/api/delete"],
  summary: "Removes a copy, or a model that was pulled, if the server allows it.",
  fields: { used: nameFields },
  async handle({ services }, body) {
    requireLibrary(services.models, "/api/delete");
    await services.models.remove(nameOf(body));
    return new Response(null);
  },
});

export const copy: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/copy"],
  summary: "Gives a model a further name until the server ends, if the server allows it.",
  fields: {
    used: {
      source: modelField,
      destination: z
        .string()
        .check(z.regex(/^[\w.-]{1,64}(:[\w.-]{1,64})?$/, { error: "expected a name of letters, digits, dots and dashes" })),
    },
  },
  handle({ services }, { source, destination }) {
    requireLibrary(services.models, "/api/copy");
    services.models.copy(modelName(source), modelName(destination));
    return new Response(null);
  },
});
