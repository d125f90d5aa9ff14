import { dirname, join, resolve } from "node:path";
import ts from "@typescript/typescript6";
import { expect, test } from "vitest";

/** A call of an op, the signature that an editor shows for it, and a phrase of the documentation below. */
const hovers: readonly (readonly [call: string, signature: RegExp, phrase: string])[] = [
  [
    "program.attention",
    /attention\(q: Value, cache: Value, positions: Value, seqOf: Value, blockTable: Value, seqLens: Value, params: \{.*readonly scale: number;.*readonly causal\?: boolean;.*readonly sinks\?: Value;.*\}\): Value$/s,
    "over a paged cache",
  ],
  [
    "program.rmsNorm",
    /rmsNorm\(x: Value, w: Value, params: \{\s*readonly eps: number;\s*\}\): Value$/,
    "Root-mean-square norm over the last axis",
  ],
  ["program.kvWrite", /kvWrite\(cache: Value, k: Value, v: Value, slots: Value\): Value$/, "-> cache`"],
  ["runtime.matmul", /matmul\(a: Tensor, b: Tensor, params\?: \{.*readonly transposeB\?: boolean;.*\): Promise</s, "Matrix product"],
  ["runtime.concat", /concat\(tensors: readonly Tensor\[\], params: \{\s*readonly axis: number;\s*\}\): Promise<Tensor>$/, "along an axis"],
  ["runtime.sync.softmax", /softmax\(x: Tensor, params\?: \{\s*readonly axis\?: number;\s*\}\): Tensor$/, "along an axis"],
  ["lazy.rope", /rope\(positions: LazyTensor, params: \{.*readonly freqFactors\?: LazyTensor;.*\): LazyTensor$/s, "`x` is this tensor"],
  ["lazy.stack", /stack\(others: readonly LazyTensor\[\], params\?: .*\): LazyTensor$/s, "The first of `tensors` is this tensor"],
  ["lazy.relu", /relu\(\): LazyTensor$/, "`y = max(x, 0)`"],
  ["batch.add", /add\(a: Value, b: Value\): Value$/, "Sum with broadcasting"],
  ["batch.random", /random\(params: \{\s*readonly shape: Shape;.*\): Value$/s, "Philox4x32-10"],
];

const root = resolve(import.meta.dirname, "../../..");
const file = join(import.meta.dirname, "probe.ts");
const text = `import type { Batch, LazyTensor, Program, Runtime } from "../src/index.ts";
declare const [program, runtime, lazy, batch]: [Program, Runtime, LazyTensor, Batch];
${hovers.map(([call]) => `${call};`).join("\n")}
lazy.rope(lazy, { ropeType: "neox", base: 1 });
`;
const service = serviceFor(file, text);

test.for(hovers)("an editor shows parameters and documentation of %s", ([call, signature, phrase]) => {
  const { shown, documentation } = hover(text.indexOf(`${call};`) + call.lastIndexOf(".") + 1);
  expect(shown).toMatch(signature);
  expect(documentation).toContain(phrase);
  expect(documentation).toContain(`{@link ${call.slice(call.lastIndexOf(".") + 1)}}`);
});

test("an editor shows the documentation of a parameter", () => {
  const { shown, documentation } = hover(text.indexOf("base: 1"));
  expect(shown).toContain("base?: number");
  expect(documentation).not.toBe("");
});

function hover(position: number): { readonly shown: string; readonly documentation: string } {
  const info = service.getQuickInfoAtPosition(file, position);
  return { shown: ts.displayPartsToString(info?.displayParts), documentation: ts.displayPartsToString(info?.documentation) };
}

/** A language service over the workspace's sources and one more file. */
function serviceFor(extra: string, content: string): ts.LanguageService {
  const config = join(root, "tsconfig.test.json");
  const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(config, ts.sys.readFile).config, ts.sys, dirname(config));
  return ts.createLanguageService({
    getCompilationSettings: () => options,
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
    getScriptFileNames: () => [extra],
    getScriptVersion: () => "1",
    getScriptSnapshot(name) {
      const source = name === extra ? content : ts.sys.readFile(name);
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source);
    },
    fileExists: (name) => name === extra || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
  });
}
