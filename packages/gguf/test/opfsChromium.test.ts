import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { evaluateInChromium, isRequired } from "@centella/test-devices";
import { expect, test } from "vitest";
import { sendFile, serve } from "./httpServer.ts";

const bytes = new Uint8Array(readFileSync(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url)));
const sha256 = createHash("sha256").update(bytes).digest("hex");

/** What the page reports. */
interface Report {
  readonly aborted: string;
  readonly kept: number;
  readonly stored: readonly string[];
  readonly isVerified: boolean;
  readonly sum: string;
  readonly left: readonly string[];
}

/** Runs in the page: breaks a pull off, takes it up again, reads the model from the origin private file system, and removes it. */
const pulls = (url: string): string => `(async () => {
  const { listModels, openSource, opfsStorage, pull, readGguf, removeModel } = await import("@centella/gguf");
  const storage = await opfsStorage();
  const controller = new AbortController();
  const onProgress = ({ done }) => { if (done > 500_000) controller.abort(new Error("enough")); };
  const options = { storage, sha256: "${sha256}" };
  const aborted = await pull(new URL("${url}"), { ...options, signal: controller.signal, onProgress }).catch((error) => error.message);
  const [partial] = (await storage.names()).filter((name) => name.endsWith(".partial"));
  const kept = (await storage.size(partial)) ?? 0;
  const pulled = await pull(new URL("${url}"), options);
  const stored = (await listModels(storage)).map(({ source }) => source);
  const file = await readGguf(pulled.input);
  const whole = await (await openSource(pulled.input[0])).read(0, file.source.size);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
  const sum = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await removeModel(storage, "${url}");
  return { aborted, kept, stored, isVerified: pulled.files[0].isVerified, sum, left: await storage.names() };
})()`;

test("in Chromium a pull that was broken off goes on in the origin private file system", async ({ skip }) => {
  const ranges: string[] = [];
  await using server = await serve(async (request, response) => {
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Expose-Headers", "Content-Length, Content-Range, ETag");
    if (request.method === "OPTIONS") return void response.writeHead(405).end();
    if (request.method === "GET") ranges.push(request.headers.range ?? "");
    return sendFile(request, response, { size: bytes.length, etag: '"a"', read: (start, end) => bytes.subarray(start, end) });
  });
  const url = new URL("tiny.gguf", server.url).href;
  const report = await evaluateInChromium<Report>(pulls(url));
  if (typeof report === "string") {
    if (isRequired("webgpu")) expect.fail(report);
    return skip(`Chromium is not available: ${report}`);
  }
  expect(report.aborted).toBe("enough");
  expect(report.kept).toBeGreaterThan(0);
  // The browser's cache may have the next bytes too.
  expect(Number(/^bytes=(\d+)-/.exec(ranges.at(-1)!)![1])).toBeGreaterThanOrEqual(report.kept);
  expect(report).toMatchObject({ stored: [url], isVerified: true, sum: sha256, left: [] });
});
