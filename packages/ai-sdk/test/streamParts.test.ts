import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { PartOrder, readParts } from "./parts.ts";
import { openProviders } from "./providers.ts";

const { v4 } = await openProviders();
const prompt: LanguageModelV4CallOptions["prompt"] = [{ role: "user", content: [{ type: "text", text: "Tell me a story about a fox." }] }];
const tools: LanguageModelV4CallOptions["tools"] = [
  {
    type: "function",
    name: "feed",
    inputSchema: { type: "object", properties: { animal: { enum: ["fox", "owl"] } }, required: ["animal"], additionalProperties: false },
  },
];

const typesOf = (parts: readonly LanguageModelV4StreamPart[]): readonly string[] =>
  parts.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]);

async function partsOf(
  model: LanguageModelV4,
  call: Omit<LanguageModelV4CallOptions, "prompt">,
): Promise<readonly LanguageModelV4StreamPart[]> {
  return readParts((await model.doStream({ prompt, temperature: 0, ...call })).stream);
}

describe.each(v4)("parts of streams over %s", (_, centella) => {
  const model = centella.languageModel("fable");

  test("of texts", async () => {
    const parts = await partsOf(model, { maxOutputTokens: 5 });
    expect(typesOf(parts)).toEqual(["stream-start", "response-metadata", "text-start", "text-delta", "text-end", "finish"]);
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: "length", raw: "length" },
      usage: { outputTokens: { total: 5, text: 5, reasoning: 0 } },
    });
  });

  test("of calls", async () => {
    const options = { tools, toolChoice: { type: "required" }, providerOptions: { centella: { parallelToolCalls: false } } } as const;
    const parts = await partsOf(model, { ...options, maxOutputTokens: 100 });
    expect(typesOf(parts).filter((type) => type !== "tool-input-delta")).toEqual([
      "stream-start",
      "response-metadata",
      "tool-input-start",
      "tool-input-end",
      "tool-call",
      "finish",
    ]);
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls", raw: "toolCalls" } });
    // A call that is cut short is none.
    const cut = await partsOf(model, { ...options, maxOutputTokens: 12 });
    expect(typesOf(cut)).not.toContain("tool-call");
  });

  test("raw ones are those of the engine, on request", async () => {
    const parts = await partsOf(model, { maxOutputTokens: 2, includeRawChunks: true });
    const raw = parts.flatMap((part) => (part.type === "raw" ? [(part.rawValue as { type: string }).type] : []));
    expect(raw[0]).toBe("prefill");
    expect(raw.at(-1)).toBe("finish");
  });

  test("end what they began where the call is aborted", async () => {
    const controller = new AbortController();
    const { stream } = await model.doStream({ prompt, temperature: 0, abortSignal: controller.signal });
    const order = new PartOrder();
    const read = async () => {
      for await (const part of stream as typeof stream & AsyncIterable<LanguageModelV4StreamPart>) {
        order.check(part);
        if (part.type === "text-delta") controller.abort(new Error("enough"));
      }
    };
    await expect(read()).rejects.toThrow("enough");
    order.end();
  });

  test("a stream that is cancelled frees its sequence, also before it is read", async () => {
    for (const count of [0, 1, 4]) {
      // More than there are sequences.
      for (let i = 0; i < 4; i++) {
        const { stream } = await model.doStream({ prompt, temperature: 0 });
        const reader = stream.getReader();
        for (let read = 0; read < count; read++) await reader.read();
        await reader.cancel();
      }
    }
    expect((await partsOf(model, { maxOutputTokens: 1 })).at(-1)).toMatchObject({ type: "finish" });
  });
});
