import { json, type Route, route } from "../http/route.ts";
import { numberedScales } from "../models/adapterList.ts";
import { openaiForm } from "../openai/form.ts";

export const loraAdapters: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/lora-adapters"],
  summary: "Lists the LoRA adapters, which are models, too.",
  handle: ({ services }) => json(services.models.adapters.describe()),
});

export const setLoraAdapters: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/lora-adapters"],
  summary: "Sets the scales of the adapters' models for later requests. Adapters that are left out get 0.",
  fields: { used: { adapters: numberedScales } },
  listField: "adapters",
  handle({ services }, { adapters }) {
    services.models.adapters.setScales(adapters);
    return json({ success: true });
  },
});
