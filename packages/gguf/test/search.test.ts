import { describe, expect, test } from "vitest";
import { searchHub } from "../src/search/searchHub.ts";
import { serve } from "./httpServer.ts";
import { serveSearch } from "./searchedHub.ts";

const repositories = {
  "o/Story-8B-GGUF": {
    files: {
      "README.md": 5,
      "mmproj-F16.gguf": 7,
      "Story-8B-Q8_0.gguf": 800,
      "Story-8B-UD-Q4_K_M.gguf": 500,
      "BF16/Story-8B-BF16-00001-of-00002.gguf": 1000,
      "BF16/Story-8B-BF16-00002-of-00002.gguf": 600,
      // A part is missing.
      "Story-8B-F32-00001-of-00002.gguf": 1000,
    },
    license: "apache-2.0",
    downloads: 12,
  },
  "o/gated-story": { files: { "a/story.q4_0.gguf": 3, "b/story.q4_0.gguf": 4 }, license: "llama3", gated: "manual" },
  "o/story-without-files": { files: { "README.md": 5 } },
  "o/other": { files: { "other-Q8_0.gguf": 1 } },
  "o/last-story": { files: { "last story.gguf": 9 } },
} as const;

describe("searchHub", () => {
  test("lists complete models with sizes, quantisations, licence and terms", async () => {
    await using hub = await serveSearch(repositories);
    const found = await searchHub("story", { endpoint: hub.url });
    expect(found).toEqual([
      {
        name: "o/Story-8B-GGUF",
        license: "apache-2.0",
        isGated: false,
        downloads: 12,
        likes: 1,
        files: [
          { source: "hf:o/Story-8B-GGUF:Q4_K_M", path: "Story-8B-UD-Q4_K_M.gguf", quantization: "Q4_K_M", bytes: 500, parts: 1 },
          { source: "hf:o/Story-8B-GGUF:Q8_0", path: "Story-8B-Q8_0.gguf", quantization: "Q8_0", bytes: 800, parts: 1 },
          {
            source: "hf:o/Story-8B-GGUF:BF16",
            path: "BF16/Story-8B-BF16-00001-of-00002.gguf",
            quantization: "BF16",
            bytes: 1600,
            parts: 2,
          },
        ],
      },
      {
        name: "o/gated-story",
        license: "llama3",
        isGated: true,
        downloads: 0,
        likes: 1,
        // The quantisation alone would name both.
        files: [
          { source: "hf:o/gated-story/a/story.q4_0.gguf", path: "a/story.q4_0.gguf", quantization: "Q4_0", bytes: 3, parts: 1 },
          { source: "hf:o/gated-story/b/story.q4_0.gguf", path: "b/story.q4_0.gguf", quantization: "Q4_0", bytes: 4, parts: 1 },
        ],
      },
      {
        name: "o/last-story",
        license: undefined,
        isGated: false,
        downloads: 0,
        likes: 1,
        files: [{ source: "hf:o/last-story/last story.gguf", path: "last story.gguf", quantization: undefined, bytes: 9, parts: 1 }],
      },
    ]);
    const [search] = hub.requests;
    expect(search!.url).toMatch(/^\/api\/models\?.*search=story.*sort=downloads.*filter=gguf/);
    expect(await searchHub("nothing", { endpoint: hub.url })).toEqual([]);
    expect((await searchHub("story", { endpoint: hub.url, limit: 1 })).map(({ name }) => name)).toEqual(["o/Story-8B-GGUF"]);
  });

  test("sends the token to the hub alone", async () => {
    await using other = await serveSearch(repositories);
    await using hub = await serve((_, response) => {
      response.setHeader("Link", `<${new URL("api/models?search=other", other.url)}>; rel="next"`);
      response.end("[]");
    });
    await searchHub("story", { endpoint: hub.url, token: "secret" });
    expect(hub.requests[0]!.headers.authorization).toBe("Bearer secret");
    expect(other.requests[0]!.headers.authorization).toBeUndefined();
  });

  test.each([
    ["no list", "{}", /a list of models from http.* got another answer; check HF_ENDPOINT/],
    ["no JSON", "<html>", /got another answer/],
    ["a list of something else", "[5]", /got another answer/],
  ])("answers that are %s are an error", async (_, body, message) => {
    await using hub = await serve((_request, response) => void response.end(body));
    await expect(searchHub("story", { endpoint: hub.url })).rejects.toMatchObject({ code: "io", message: expect.stringMatching(message) });
  });

  test("a list without an end, a refusal and an abort end the search", async () => {
    await using endless = await serve((request, response) => {
      response.setHeader("Link", `<${request.url}x>; rel="next"`);
      response.end("[]");
    });
    await expect(searchHub("story", { endpoint: endless.url })).rejects.toThrow(/got more than 1000 pages/);
    await using refusing = await serve((_, response) => void response.writeHead(403).end());
    await expect(searchHub("story", { endpoint: refusing.url })).rejects.toThrow(/needs permission/);
    const reason = new Error("enough");
    await expect(searchHub("story", { endpoint: refusing.url, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test("names that no reference can have are left out", async () => {
    await using hub = await serve((request, response) => {
      response.end(request.url!.includes("/tree/") ? '[{"type":"file","path":"a.gguf","size":1}]' : '[{"id":"../x"},{"id":"o/a"}]');
    });
    expect((await searchHub("a", { endpoint: hub.url })).map(({ name }) => name)).toEqual(["o/a"]);
    expect(hub.requests).toHaveLength(2);
  });
});
