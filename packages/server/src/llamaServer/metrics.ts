import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

export const metrics: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/metrics"],
  summary: "Metrics for Prometheus.",
  async handle({ services }) {
    const { metrics: source } = services;
    if (source === undefined)
      throw new ApiError(501, "not_enabled", "expected a server with metrics, got one without; start it with metrics");
    const usages = services.models.all.flatMap(({ name: model, current }) =>
      current === undefined ? [] : [current.cacheUsage().then((cache) => ({ model, cache }))],
    );
    return new Response(await source.render(await Promise.all(usages)), { headers: { "content-type": source.contentType } });
  },
});
