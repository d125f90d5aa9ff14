import { expect, test } from "vitest";
import { choice, flag, formatOptions, number, parseOptions, text } from "../src/options.ts";

const specs = {
  prompt: text("TEXT", "the prompt", "p"),
  tokens: number("N", "how many", { min: 1, integer: true, short: "n" }),
  "top-p": number("P", "nucleus", { min: 0, max: 1 }),
  backend: choice(["wasm", "cuda"], "where"),
  json: flag("machine readable"),
};

test("values are typed and positionals kept", () => {
  const { values, positionals } = parseOptions(specs, [
    "file.gguf",
    "-p",
    "hi",
    "-n",
    "3",
    "--top-p",
    "0.5",
    "--json",
    "--backend",
    "cuda",
  ]);
  expect(values).toEqual({ prompt: "hi", tokens: 3, "top-p": 0.5, json: true, backend: "cuda" });
  expect(positionals).toEqual(["file.gguf"]);
});

test.each([
  [["--bogus"], /bogus/],
  [["-n"], /argument missing/],
  [["-n", "0"], "--tokens: expected a whole number from 1, got 0"],
  [["-n", "1.5"], "--tokens: expected a whole number from 1, got 1.5"],
  [["-n", ""], "--tokens: expected a whole number from 1, got "],
  [["--top-p", "2"], "--top-p: expected a number from 0 to 1, got 2"],
  [["--top-p", "x"], "--top-p: expected a number from 0 to 1, got x"],
  [["--backend", "cuba"], "--backend: expected one of wasm, cuda, got cuba"],
])("%j is refused", (args, message) => {
  expect(() => parseOptions(specs, args)).toThrow(message);
});

test("help lines up", () => {
  expect(formatOptions(specs)).toMatchInlineSnapshot(`
    "  -p, --prompt TEXT        the prompt
      -n, --tokens N           how many
          --top-p P            nucleus
          --backend wasm|cuda  where
          --json               machine readable"
  `);
});
