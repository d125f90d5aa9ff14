import * as core from "@centella/core";
import * as gguf from "@centella/gguf";
import * as quant from "@centella/quant";
import { expect, test } from "vitest";
import * as llm from "../src/index.ts";
import { packError, unpackError } from "../src/worker/packedError.ts";

test("every exported error class can be sent to another thread, and all but that of grammars extend CentellaError", () => {
  const all: readonly (readonly [string, unknown])[] = Object.entries({ ...quant, ...core, ...gguf, ...llm });
  const exported = all.filter(
    (entry): entry is [string, { readonly prototype: Error }] => typeof entry[1] === "function" && entry[1].prototype instanceof Error,
  );
  expect(exported.length).toBeGreaterThan(18);
  for (const [name, errorClass] of exported) {
    const error = Object.assign(Object.create(errorClass.prototype) as Error, { name, message: "told", extra: [1, 2] });
    const back = unpackError(structuredClone(packError(error)));
    expect(back, name).toBeInstanceOf(errorClass);
    expect(back instanceof core.CentellaError, name).toBe(errorClass !== llm.GrammarError);
    expect(back).toMatchObject({ name, message: "told", extra: [1, 2] });
  }
  const cause = new core.ArgumentError("a", "b", "c");
  expect(unpackError(structuredClone(packError(new llm.ModelError("m", { cause }))))).toMatchObject({ cause: { code: "argument" } });
  expect(unpackError(structuredClone(packError(new TypeError("plain"))))).toBeInstanceOf(TypeError);
  expect(unpackError(packError({ run: () => undefined }))).toBeInstanceOf(Error);
});
