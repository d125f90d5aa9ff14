import { wasm } from "@centella/backend-wasm";
import { type BackendFactory, createRuntime } from "@centella/core";
import { isWholeGrid } from "@centella/test-devices";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { loadModel } from "../src/index.ts";
import { interpreted, opens, software } from "./gpus.ts";
import { tiny } from "./modelFiles.ts";
import { invalidTexts, randomSchema } from "./randomSchemas.ts";

/** "Once upon a time", with BOS. */
const once = [0, 2817, 632, 263, 534];

/** Texts on each backend. GPUs without hardware take seconds for one. */
const cases: readonly (readonly [name: string, factory: BackendFactory, count: number])[] = [
  ["wasm", wasm({ threads: 2 }), isWholeGrid ? 1000 : 48],
  ...(isWholeGrid ? ([["cuda", interpreted, 4]] as const) : []),
  ...(isWholeGrid && (await opens(software)) ? ([["webgpu", software, 40]] as const) : []),
];

test.each(cases)("texts under random schemas at temperature 2 are valid on %s", async (_, factory, count) => {
  await using runtime = await createRuntime({ backends: [factory], policy: { force: factory.name, allowSoftware: true } });
  await using model = await loadModel(tiny, { runtime, contextLength: 512, sequences: 8 });
  expect(await invalidTexts(model, { count, ids: once })).toEqual([]);
});

test("random schemas agree with Ajv on values of one another", () => {
  const values = Array.from({ length: 60 }, (_, seed) => exampleOf(randomSchema(seed).schema));
  let [valid, checked] = [0, 0];
  for (let seed = 0; seed < 60; seed++) {
    const { schema, isValid } = randomSchema(seed);
    const ajv = new Ajv2020({ unicodeRegExp: true, strict: false }).compile(schema as object);
    for (const value of values) {
      expect(isValid(value), `${JSON.stringify(value)} under ${JSON.stringify(schema)}`).toBe(ajv(value));
      checked++;
      if (ajv(value)) valid++;
    }
  }
  expect(valid).toBeGreaterThan(30);
  expect(valid).toBeLessThan(checked / 2);
});

/** A value that is often valid. */
function exampleOf(schema: unknown): unknown {
  const given = schema as Record<string, unknown>;
  if (Array.isArray(given.enum)) return given.enum[0];
  if (Array.isArray(given.anyOf)) return exampleOf(given.anyOf[0]);
  if (given.type === "string") return given.pattern === undefined ? "abcdef".slice(0, given.maxLength as number) : "AB-12";
  if (given.type === "array") return Array.from({ length: given.minItems as number }, () => exampleOf(given.items));
  if (given.type === "object")
    return Object.fromEntries(Object.entries(given.properties as object).map(([name, each]) => [name, exampleOf(each)]));
  return given.type === "boolean" ? true : ((given.minimum as number | undefined) ?? 0);
}
