import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { json, type Route, route } from "../http/route.ts";
import type { ModelEntry } from "../models/modelEntry.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { openaiForm } from "../openai/form.ts";

interface ListedAdapter {
  readonly id: number;
  /** Name of the adapter's model. Paths of files stay in the server. */
  readonly path: string;
  readonly scale: number;
}

function adaptersOf({ all }: ModelStore): readonly ListedAdapter[] {
  const adapters = all.filter(({ adapter }: ModelEntry) => adapter !== undefined);
  return adapters.map(({ name, adapter }, id) => ({ id, path: name, scale: adapter!.scale ?? 1 }));
}

export const loraAdapters: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/lora-adapters"],
  summary: "Lists the LoRA adapters that are served as models.",
  handle: ({ services }) => json(adaptersOf(services.models)),
});

export const setLoraAdapters: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/lora-adapters"],
  summary: "Accepts the scales that the adapters have. Other scales are refused: requests choose an adapter by its model's name.",
  fields: { used: { adapters: z.array(z.strictObject({ id: z.int(), scale: z.number() })) } },
  listField: "adapters",
  handle({ services }, { adapters: given }) {
    const adapters = adaptersOf(services.models);
    for (const [i, { id, scale }] of given.entries()) {
      const [adapter, param] = [adapters[id], `adapters[${i}]`];
      if (adapter === undefined)
        throw new ApiError(400, "invalid_value", `${param}.id: expected the id of an adapter, got ${id}`, { param: `${param}.id` });
      if (scale !== adapter.scale)
        throw new ApiError(
          400,
          "unsupported_value",
          `${param}.scale: expected ${adapter.scale}, the scale that the adapter is served with, got ${scale}; choose the model ${adapter.path} or its base`,
          { param: `${param}.scale` },
        );
    }
    return json({ success: true });
  },
});
