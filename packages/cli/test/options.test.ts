import { expect, test } from "vitest";
import { canonicalArguments, choice, flag, number, repeated, text } from "../src/options.ts";
import { parse } from "./parse.ts";

const specs = {
  prompt: text("TEXT", "the prompt", { short: "p" }),
  tokens: number("N", "how many", { min: 1, integer: true, short: "n", aliases: ["--n-predict"] }),
  "top-p": number("P", "nucleus", { min: 0, max: 1 }),
  layers: number("N", "how many layers", { aliases: ["-ngl", "--gpu-layers"] }),
  stop: repeated("TEXT", "end before", (given) => given),
  backend: choice(["wasm", "cuda"], "where"),
  "no-special": flag("plain"),
  json: flag("machine readable"),
};

test("values are typed, only given options have one, and positionals are kept", async () => {
  const line = [
    "file.gguf",
    "-p",
    "hi",
    "-n3",
    "--top-p=0.5",
    "--json",
    "--backend",
    "cuda",
    "--stop",
    "a",
    "b",
    "--stop=c",
    "--no-special",
  ];
  expect(await parse(specs, ...line)).toEqual({
    values: { prompt: "hi", tokens: 3, "top-p": 0.5, json: true, backend: "cuda", stop: ["a", "c"], "no-special": true },
    positionals: ["file.gguf", "b"],
  });
});

test("values may look like options", async () => {
  expect((await parse(specs, "--layers", "-1", "-p", "-ngl", "--stop", "--json")).values).toEqual({
    layers: -1,
    prompt: "-ngl",
    stop: ["--json"],
  });
  expect((await parse(specs, "--", "-ngl")).positionals).toEqual(["-ngl"]);
});

test.each([
  [["-ngl", "99"], { layers: 99 }],
  [["-ngl=99"], { layers: 99 }],
  [["--gpu-layers", "5", "--n-predict=7"], { layers: 5, tokens: 7 }],
])("%j: spellings of other tools", async (line, values) => {
  expect((await parse(specs, ...line)).values).toEqual(values);
});

test("spellings of options are replaced, and equal texts within values are kept", () => {
  expect(canonicalArguments(specs, ["-ngl", "1", "-p", "-ngl", "x", "--", "-ngl"])).toEqual([
    "--layers",
    "1",
    "-p",
    "-ngl",
    "x",
    "--",
    "-ngl",
  ]);
});

test.each([
  [["--bogus"], /unknown option '--bogus'/],
  [["--tokns", "3"], /unknown option '--tokns' \(Did you mean --tokens\?\)/],
  [["--n-predct", "3"], /unknown option '--n-predct' \(Did you mean --n-predict\?\)/],
  [["-n"], /option '-n, --tokens <N>' argument missing/],
  [["-n", "0"], "--tokens: expected a whole number from 1, got 0"],
  [["-n", "1.5"], "--tokens: expected a whole number from 1, got 1.5"],
  [["-n", ""], "--tokens: expected a whole number from 1, got "],
  [["--top-p", "2"], "--top-p: expected a number from 0 to 1, got 2"],
  [["--top-p", "x"], "--top-p: expected a number from 0 to 1, got x"],
  [["--backend", "cuba"], "--backend: expected one of wasm, cuda, got cuba"],
])("%j is refused", async (args, message) => {
  await expect(parse(specs, ...args)).rejects.toThrow(message);
});
