import { json, type Route, route } from "../http/route.ts";
import type { NamedModel } from "../models/modelStore.ts";
import { openaiForm } from "./form.ts";

function modelOf(id: string, { name, created, current, state, base }: NamedModel): object {
  const info = current?.info;
  return {
    id,
    object: "model",
    created,
    owned_by: "centella",
    root: base?.name ?? name,
    parent: base?.name ?? null,
    status: { value: state },
    ...(info !== undefined && {
      meta: {
        name: info.name,
        architecture: info.architecture,
        quantization: info.quantization,
        n_params: info.parameters,
        n_vocab: info.vocabSize,
        n_ctx: info.contextLength,
        n_ctx_train: info.trainedContextLength,
        backend: info.backend,
      },
    }),
  };
}

export const models: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/v1/models", "/models"],
  summary: "Lists the models.",
  handle: ({ services }) => json({ object: "list", data: services.models.named.map(([name, entry]) => modelOf(name, entry)) }),
});

export const model: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/v1/models/{id}"],
  summary: "Describes a model.",
  handle: ({ services, params }) => json(modelOf(params.id!, services.models.entry(params.id))),
});
