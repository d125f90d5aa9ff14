import { expect, test } from "vitest";
import { samplingFields } from "../src/generation/sampling.ts";
import { createHandler } from "../src/index.ts";
import { get } from "./serving.ts";

interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { readonly properties: Readonly<Record<string, object>> } }>>;
  };
}

test("the description comes from the schemas that check requests", async () => {
  const handler = createHandler({ models: { none: { load: () => Promise.reject(new Error("not needed")), isLazy: true } } });
  const { openapi, paths } = (await (await get(handler, "/openapi.json")).json()) as Description;
  expect(openapi).toBe("3.1.0");
  const { properties } = paths["/v1/chat/completions"]!.post!.requestBody!.content["application/json"]!.schema;
  expect(properties.temperature).toEqual({ type: "number", minimum: 0, "x-effect": "used" });
  expect(properties.user).toMatchObject({ type: "string", "x-effect": "accepted without effect" });
  expect(properties.functions).toMatchObject({ "x-effect": "refused", description: "use tools" });
  expect(Object.keys(paths)).toContain("/v1/models/{id}");
});

test.each(["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/completion", "/infill"])(
  "%s has every field for sampling and those of llama-server",
  async (path) => {
    const handler = createHandler({ models: { none: { load: () => Promise.reject(new Error("not needed")), isLazy: true } } });
    const { paths } = (await (await get(handler, "/openapi.json")).json()) as Description;
    const { properties } = paths[path]!.post!.requestBody!.content["application/json"]!.schema;
    for (const name of Object.keys(samplingFields)) expect(properties).toHaveProperty([name, "x-effect"], "used");
    for (const name of ["priority", "id_slot", "lora", "t_max_predict_ms"]) expect(properties).toHaveProperty([name, "x-effect"], "used");
    for (const name of ["min_keep", "n_keep", "n_discard", "post_sampling_probs", "timings_per_token", "cache_prompt"])
      expect(properties).toHaveProperty([name, "x-effect"], "accepted without effect");
    expect(properties).toHaveProperty(["n_probs", "x-effect"], path === "/v1/messages" ? "refused" : "used");
  },
);
