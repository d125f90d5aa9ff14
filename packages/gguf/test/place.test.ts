import { afterEach, describe, expect, test, vi } from "vitest";
import { absolutePlace, placeOf } from "../src/index.ts";

afterEach(() => vi.unstubAllGlobals());

const urls = [
  "https://example.com/m.gguf?a=1",
  "http://127.0.0.1:8080/m.gguf",
  "HTTPS://example.com/m.gguf",
  "file:///models/m.gguf",
  "blob:https://example.com/5f0c",
  "data:application/octet-stream;base64,AQID",
];
const references = ["hf:owner/repo:Q4_K_M", "hf:owner/repo@v1/folder/m.gguf"];
const unknown = ["ftp://example.com/m.gguf", "s3://bucket/m.gguf", "mailto:me", "model:latest"];

/** A page at this URL, without Node; a worker has no document. */
function stubPage(href: string, { isWorker = false } = {}): void {
  vi.stubGlobal("process", undefined);
  vi.stubGlobal("location", { href });
  if (!isWorker) vi.stubGlobal("document", { baseURI: href });
}

describe.each(["Node", "a page", "a worker"])("in %s", (where) => {
  const enter = (): void => {
    if (where !== "Node") stubPage("https://app.example/chat/index.html", { isWorker: where === "a worker" });
  };

  test.each(urls)("%s is a URL", (text) => {
    enter();
    expect(placeOf(text)).toEqual({ kind: "url", url: new URL(text) });
    expect(placeOf(new URL(text))).toEqual(placeOf(text));
    expect(absolutePlace(text)).toBe(new URL(text).href);
  });

  test.each(references)("%s is on a hub", (text) => {
    enter();
    expect(placeOf(text)).toEqual({ kind: "hub", reference: text });
    expect(placeOf(new URL(text))).toEqual(placeOf(text));
    expect(placeOf(text.replace("hf:", "HF:"))).toEqual(placeOf(text));
    expect(absolutePlace(text)).toBe(text);
  });

  test.each(unknown)("%s is refused with the forms that are known", (text) => {
    enter();
    const forms = "an https:, http:, file:, blob: or data: URL, hf:owner/repo:QUANT, hf:owner/repo/file.gguf or ollama:NAME:TAG";
    expect(() => placeOf(text)).toThrow(expect.objectContaining({ name: "GgufError", code: "range", got: `'${text}'` }));
    expect(() => placeOf(text)).toThrow(forms);
  });

  test.each(["https://", "http://[x"])("%s is no URL", (text) => {
    enter();
    expect(() => placeOf(text)).toThrow(expect.objectContaining({ name: "GgufError", code: "range" }));
  });
});

test.each(["m.gguf", "./m.gguf", "/models/m.gguf", "C:\\models\\m.gguf", "c:/m.gguf", "~/m.gguf", "a folder/m:Q4.gguf"])(
  "%s is a path in Node",
  (text) => {
    expect(placeOf(text)).toEqual({ kind: "path", path: text });
    expect(absolutePlace(text)).toBe(text);
  },
);

test.each([
  ["/m.gguf", "https://app.example/m.gguf"],
  ["m.gguf?v=2", "https://app.example/chat/m.gguf?v=2"],
  ["../m.gguf", "https://app.example/m.gguf"],
  ["//cdn.example/m.gguf", "https://cdn.example/m.gguf"],
])("%s is relative to a page", (text, href) => {
  stubPage("https://app.example/chat/index.html");
  expect(absolutePlace(text)).toBe(href);
});

test("messages leave out passwords and signatures", () => {
  expect(() => placeOf("s3://me:password@bucket/m.gguf?signature=1")).toThrow(expect.objectContaining({ got: "'s3://bucket/m.gguf'" }));
});

test("relative URLs follow a page's <base>, and are refused in a worker that was made from a blob", () => {
  stubPage("https://app.example/chat/");
  vi.stubGlobal("document", { baseURI: "https://cdn.example/models/" });
  expect(absolutePlace("m.gguf")).toBe("https://cdn.example/models/m.gguf");
  vi.unstubAllGlobals();
  stubPage("blob:https://app.example/5f0c", { isWorker: true });
  expect(() => placeOf("/m.gguf")).toThrow(/^gguf: expected an https:, .* got '\/m\.gguf'$/);
});
