import type { ModelInfo } from "@centella/llm";
import * as z from "zod/mini";
import { ApiError } from "../errors.ts";
import { json, type Route, route } from "../http/route.ts";
import { type Slot, slotOf } from "../models/slots.ts";
import { openaiForm } from "../openai/form.ts";

function describeSlot({ id, isProcessing, session, tokens, counts }: Slot, { contextLength, draft }: ModelInfo): object {
  return {
    id,
    n_ctx: contextLength,
    speculative: draft !== undefined,
    is_processing: isProcessing,
    ...(session !== undefined && {
      n_prompt_tokens: tokens,
      n_prompt_tokens_processed: counts.prompt - counts.cached,
      n_prompt_tokens_cache: counts.cached,
      next_token: [{ has_next_token: isProcessing, n_decoded: counts.generated }],
    }),
  };
}

export const slots: Route = route({
  api: openaiForm,
  method: "GET",
  paths: ["/slots"],
  summary: "The slots of a model, of the first one unless the query has `model`. With `fail_on_no_slot`, status 503 if none is free.",
  handle({ services, query }) {
    const { current, slots: { all } = { all: [] } } = services.models.entry(query.model);
    if (query.fail_on_no_slot !== undefined && all.every(({ isProcessing }) => isProcessing))
      throw new ApiError(503, "queue_full", "expected a free slot, got none; try again later", { retryAfter: 1 });
    return json(all.map((slot) => describeSlot(slot, current!.info)));
  },
});

/** Names of files: no separators of paths, no hidden files, none that Windows keeps for devices. */
const plainName = /^(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))[a-z\d](?:[\w-]|\.(?=[\w-])){0,127}$/i;

const used = {
  model: z.optional(z.string()),
  filename: z.optional(
    z.string().check(
      z.refine((name) => plainName.test(name), {
        error: "expected a plain name of letters, digits, dots, dashes and underscores, which begins with a letter or digit",
      }),
    ),
  ),
};

export const slotAction: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/slots/{id}"],
  summary: "Saves, restores or erases what a slot has computed: the query's `action`.",
  fields: { used },
  isBodyOptional: true,
  async handle(call, { model, filename }) {
    const { services, params, query, signal } = call;
    const { slotStore: store } = services;
    if (store === undefined)
      throw new ApiError(501, "not_enabled", "expected a server that saves slots, got another one; start it with a folder for slots");
    // Few servers keep slots.
    const { actions } = await import("./slotActions.ts");
    const act = Object.hasOwn(actions, query.action ?? "") ? actions[query.action!] : undefined;
    if (act === undefined)
      throw new ApiError(
        400,
        "invalid_value",
        `action: expected save, restore or erase, got ${JSON.stringify(query.action ?? "nothing")}`,
        {
          param: "action",
        },
      );
    return services.models.with(model, async (lease) => {
      const slot = slotOf(lease.slots, Number(params.id), "id");
      await lease.slots.take(slot, signal);
      try {
        return json(await act({ call, lease, slot, filename, store }));
      } finally {
        lease.slots.release(slot);
      }
    });
  },
});
