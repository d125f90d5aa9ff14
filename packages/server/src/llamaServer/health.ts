import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

export const health: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/health", "/v1/health"],
  summary: "Says whether the server accepts requests.",
  isPublic: true,
  handle({ services }) {
    const state = services.isDraining ? ({ status: "draining" } as const) : services.models.health;
    if (state.status === "ok") return json(state);
    const message = { draining: "the server is shutting down", loading: "the model is loading", failed: "a model cannot be loaded" }[
      state.status
    ];
    return json({ ...state, error: { message, type: "unavailable_error", code: 503 } }, 503);
  },
});
