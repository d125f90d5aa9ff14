import { expect, test } from "vitest";
import { fileTypeById, formatInspect, inspect, readGguf } from "../src/index.ts";
import { everything, writeGguf } from "./writer.ts";

test("the report is plain JSON with long arrays cut", async () => {
  const values = Array.from({ length: 1000 }, (_, i) => i);
  const long = ["long", "array", { of: "u32", values }] as const;
  const report = inspect(await readGguf(writeGguf({ ...everything, metadata: [...everything.metadata!, long] })));
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  expect(report).toMatchObject({
    version: 3,
    architecture: "test",
    name: "Día ☀ 😀",
    fileType: { id: 15, name: "Q4_K_M", label: "Q4_K - Medium" },
    parameters: 222,
    tensorBytes: 276,
    bitsPerWeight: (276 * 8) / 222,
  });
  expect(report.types).toEqual([
    { type: "q8_0", tensors: 1, elements: 192, bytes: 204 },
    { type: "f16", tensors: 1, elements: 24, bytes: 48 },
    { type: "f32", tensors: 2, elements: 5, bytes: 20 },
    { type: "i32", tensors: 1, elements: 1, bytes: 4 },
  ]);
  const value = (key: string): unknown => report.metadata.find((entry) => entry.key === key);
  expect(value("long")).toEqual({
    key: "long",
    type: "array",
    elementType: "u32",
    value: { length: 1000, first: [0, 1, 2, 3, 4, 5, 6, 7] },
  });
  expect(value("a.u64.large")).toMatchObject({ value: "18446744073709551615" });
  expect(value("scores")).toMatchObject({ value: { length: 3, first: [0, -1.5, "NaN"] } });
});

test("a file without tensors or names has a report too", async () => {
  const report = inspect(await readGguf(writeGguf({ metadata: [["general.file_type", "u32", 999]] })));
  expect(report).toMatchObject({ architecture: null, name: null, fileType: null, parameters: 0, bitsPerWeight: 0, types: [] });
  expect(formatInspect(report)).toContain("quantisation  (not given)");
});

test("the text form", async () => {
  const file = await readGguf(
    writeGguf({
      metadata: [
        ["general.architecture", "string", "llama"],
        ["general.name", "string", "Tiny\u001b[31m"],
        ["general.file_type", "u32", 7],
        ["note", "string", "x".repeat(100)],
        ["tokens", "array", { of: "string", values: ["a", "b"] }],
      ],
      tensors: [
        { name: "token_embd.weight", type: "q8_0", shape: [4, 64] },
        { name: "norm", type: "f32", shape: [64] },
      ],
    }),
  );
  expect(formatInspect(inspect(file))).toMatchInlineSnapshot(`
    "format        GGUF version 3, 960 bytes
    architecture  llama
    name          Tiny\\u001b[31m
    quantisation  Q8_0
    parameters    320, 13.20 bits per weight
    tensors       2, 528 bytes: 1 q8_0, 1 f32

    metadata (5)
      general.architecture  string     "llama"
      general.name          string     "Tiny\\u001b[31m"
      general.file_type     u32        7
      note                  string     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (100 characters)"
      tokens                string[2]  ["a", "b"]

    tensors (2)
      token_embd.weight  q8_0  [4, 64]  272 bytes
      norm               f32   [64]     256 bytes
    "
  `);
});

test("file types", () => {
  expect(fileTypeById(15)).toEqual({ id: 15, name: "Q4_K_M", label: "Q4_K - Medium" });
  expect(fileTypeById(4)).toBeUndefined();
});
