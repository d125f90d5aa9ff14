import { createElement as h, type ReactNode, StrictMode, Suspense } from "react";
import { renderToString } from "react-dom/server";
import { beforeEach, describe, expect, test } from "vitest";
import { CentellaProvider, type UseModelOptions, useModel, useModels } from "../src/index.ts";
import { keyOf } from "../src/keyOf.ts";
import { CountedEngine, CountedSource } from "./engine.ts";

let engine: CountedEngine;
beforeEach(() => {
  engine = new CountedEngine();
});

const source = new CountedSource();

function Status({ options = {} }: { readonly options?: UseModelOptions }): ReactNode {
  return h("p", null, `${useModel(source, options).status} of ${useModels().length}`);
}

const page = (...children: readonly ReactNode[]): ReactNode =>
  h(StrictMode, null, h(CentellaProvider, { runtime: engine.runtime }, ...children));

test("keys of sources and options go by content for plain data and URLs, and by identity for the rest", () => {
  const [file, other] = [new Blob(["a"]), new Blob(["a"])];
  expect(keyOf([new URL("https://a.test/b"), { b: 1, a: undefined, c: [2] }])).toBe(keyOf(["https://a.test/b", { c: [2], b: 1 }]));
  expect(keyOf([file])).toBe(keyOf([file]));
  expect(keyOf([file])).not.toBe(keyOf([other]));
  expect(keyOf([Buffer.from("a")])).not.toBe(keyOf([Buffer.from("a")]));
  expect(keyOf([{ read: keyOf }])).not.toBe(keyOf([{ read: expect }]));
});

describe("on the server", () => {
  test("a model is idle, and nothing is opened", () => {
    expect(renderToString(page(h(Status)))).toContain("idle of 0");
    expect(engine.opened).toBe(0);
  });

  test("a component that suspends shows its fallback", () => {
    const html = renderToString(page(h(Suspense, { fallback: "waiting" }, h(Status, { options: { suspense: true } }))));
    expect(html).toContain("waiting");
    expect(engine.opened).toBe(0);
  });
});

describe("wrong use is an error that says what to do", () => {
  test.each([
    ["no provider", () => h(Status), "useModel: expected a CentellaProvider above the component, got none"],
    ["no engine", () => h(CentellaProvider), "CentellaProvider: expected either a runtime or a worker, got neither"],
    ["a wrong option", () => page(h(Status, { options: { contextLength: 0 } })), "contextLength"],
    ["an unknown option", () => page(h(Status, { options: { contextlength: 5 } as never })), "contextlength"],
  ])("%s", (_, element, message) => {
    expect(() => renderToString(element())).toThrow(message);
  });
});
