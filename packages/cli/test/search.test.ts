import { expect, test } from "vitest";
import { serve } from "../../gguf/test/httpServer.ts";
import { serveSearch } from "../../gguf/test/searchedHub.ts";
import { centella, expectOneLine } from "./centella.ts";

const files = { "story-Q8_0.gguf": 2_500_000_000, "story-F16-00001-of-00002.gguf": 3e9, "story-F16-00002-of-00002.gguf": 1e9 };

test("search lists sizes, quantisations, licences and what is gated", async () => {
  await using hub = await serveSearch({
    "o/story": { files, license: "mit", downloads: 12_345 },
    "o/story-2": { files: { "other.gguf": 5_000 }, gated: "auto" },
  });
  const env = { HF_ENDPOINT: hub.url.href, HF_TOKEN: "hf_secret" };
  expect(await centella(["search", "story", "--verbose"], { env })).toEqual({
    code: 0,
    stdout: [
      "o/story · mit · 12,345 downloads",
      "    2.5 GB  Q8_0      hf:o/story:Q8_0",
      "    4.0 GB  F16       hf:o/story:F16  (2 files)",
      "o/story-2 · no licence given · gated · 0 downloads",
      "    5.0 kB            hf:o/story-2/other.gguf",
      "",
    ].join("\n"),
    stderr: "gated models: accept their terms on the hub, and set HF_TOKEN to a token of your account\n",
  });
  expect(hub.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill("Bearer hf_secret"));
  const { stdout } = await centella(["search", "story", "--limit", "1", "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject({ repositories: [{ name: "o/story", files: [{ quantization: "Q8_0" }, { parts: 2 }] }] });
  expect((await centella(["search", "tale"], { env })).stdout).toBe("no GGUF models for 'tale'\n");
});

test("a wrong command line, and a hub that refuses, are one line", async () => {
  await using hub = await serve((_, response) => void response.writeHead(404).end());
  const env = { HF_ENDPOINT: hub.url.href };
  expectOneLine(await centella(["search"], { env }), /search: expected QUERY, got no arguments/, 2);
  expectOneLine(await centella(["search", "a", "--limit", "0"], { env }), /--limit: expected a whole number from 1 to 100, got 0/, 2);
  expectOneLine(await centella(["search", "a"], { env }), /cannot open 'http:.*HTTP status 404/);
});
