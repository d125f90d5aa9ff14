import { fingerprintOf } from "../generation/fingerprint.ts";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

export const props: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/props"],
  summary: "Properties of the first model.",
  async handle({ services }) {
    return services.models.with(undefined, (lease) => {
      const { info } = lease.model;
      return json({
        default_generation_settings: { n_ctx: info.contextLength, params: info.sampling },
        total_slots: info.sequences,
        model_alias: lease.name,
        chat_template: info.hasChatTemplate ? lease.model.chatTemplate.source : "",
        modalities: { vision: false, audio: false },
        build_info: fingerprintOf(lease),
      });
    });
  },
});
