import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import type { BodyOf } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import type { Engine } from "../models/engine.ts";
import type { ModelEntry } from "../models/modelEntry.ts";
import type { NamedModel } from "../models/modelStore.ts";
import { version as serverVersion } from "../version.ts";
import { ollamaForm } from "./form.ts";
import { modelField, modelName } from "./modelName.ts";

function detailsOf({ base, current }: NamedModel): object {
  const { architecture = "", parameters = 0, quantization = "" } = current?.info ?? {};
  return {
    parent_model: base?.name ?? "",
    format: "gguf",
    family: architecture,
    families: architecture === "" ? [] : [architecture],
    parameter_size: parameters < 1e9 ? `${(parameters / 1e6).toFixed(1)}M` : `${(parameters / 1e9).toFixed(1)}B`,
    quantization_level: quantization,
  };
}

function modelOf(name: string, entry: NamedModel): object {
  const { created, current } = entry;
  return {
    name,
    model: name,
    modified_at: new Date(created * 1000).toISOString(),
    size: current?.info.memory.weights ?? 0,
    digest: "",
    details: detailsOf(entry),
  };
}

export const tags: Route = route({
  api: ollamaForm,
  method: "GET",
  paths: ["/api/tags"],
  summary: "Lists the models, as Ollama does.",
  handle: ({ services }) => json({ models: services.models.named.map(([name, entry]) => modelOf(name, entry)) }),
});

/** The name of a model, also as older clients send it. */
export const nameFields = { model: z.optional(modelField), name: z.optional(modelField) };

/** @throws {ApiError} 400 without a name */
export function nameOf({ model, name }: BodyOf<typeof nameFields>): string {
  const given = model ?? name;
  if (given === undefined) throw new ApiError(400, "missing_parameter", "model: expected a string, got nothing", { param: "model" });
  return modelName(given);
}

/** Stands for no time at all. */
const never = Date.UTC(9999, 11, 31);

export const ps: Route = route({
  api: ollamaForm,
  method: "GET",
  paths: ["/api/ps"],
  summary: "Lists the loaded models, as Ollama does.",
  handle({ services }) {
    const loaded = services.models.all.filter(({ current }) => current !== undefined);
    const expiryOf = ({ expiresAt = never }: ModelEntry): string => new Date(expiresAt).toISOString();
    return json({ models: loaded.map((entry) => ({ ...modelOf(entry.name, entry), expires_at: expiryOf(entry), size_vram: 0 })) });
  },
});

export const version: Route = route({
  api: ollamaForm,
  method: "GET",
  paths: ["/api/version"],
  summary: "The version of the server.",
  handle: () => json({ version: serverVersion }),
});

/** What the model can do, by Ollama's names. */
function capabilitiesOf(model: Engine): readonly string[] {
  const { tasks, hasChatTemplate } = model.info;
  const template = hasChatTemplate ? model.chatTemplate : undefined;
  const isWriter = tasks.includes("generate");
  const { prefixId, suffixId, middleId } = model.tokenizer.fillInMiddle;
  const fillsGaps = [prefixId, suffixId, middleId].every((id) => id !== undefined);
  const all: Readonly<Record<string, boolean>> = {
    completion: isWriter,
    insert: isWriter && fillsGaps,
    tools: isWriter && template !== undefined,
    thinking: isWriter && template?.reasoning !== undefined,
    embedding: tasks.includes("embed"),
  };
  return Object.keys(all).filter((name) => all[name]);
}

export const show: Route = route({
  api: ollamaForm,
  method: "POST",
  paths: ["/api/show"],
  summary: "Describes a model, as Ollama does.",
  fields: { used: nameFields, ignored: { verbose: z.optional(z.boolean()) } },
  async handle({ services }, body) {
    const entry = services.models.entry(nameOf(body));
    const lease = await entry.use();
    try {
      const { model } = lease;
      const { info } = model;
      const template = info.hasChatTemplate ? model.chatTemplate : undefined;
      return json({
        license: "",
        modelfile: "",
        parameters: "",
        template: template?.source ?? "",
        details: detailsOf(entry),
        model_info: {
          "general.architecture": info.architecture,
          "general.basename": info.name,
          "general.parameter_count": info.parameters,
          [`${info.architecture}.context_length`]: info.contextLength,
        },
        capabilities: capabilitiesOf(model),
        modified_at: new Date(entry.created * 1000).toISOString(),
      });
    } finally {
      lease.release();
    }
  },
});
