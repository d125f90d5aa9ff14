import { readFileSync } from "node:fs";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { readGguf } from "@centella/gguf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { architectureStatus, draftArchitectures, loadModel, refusedArchitectures, supportedArchitectures } from "../src/index.ts";
import { decodedText, expectedLogprobs, greedy } from "./decodedText.ts";
import {
  comparedLogits,
  expectedLogits,
  type FamilyGolden,
  familyGoldens,
  familyModel,
  floats,
  readFamilyGolden,
  withVocabulary,
  withWritersDefaults,
} from "./familyFixture.ts";
import { relativeError } from "./vectors.ts";

/** Maximum relative error with f32 weights and cache. */
const exactError = 1e-4;

const embedding = familyGoldens.filter((name) => readFamilyGolden(name).mean !== undefined);
const decoding = familyGoldens.filter((name) => readFamilyGolden(name).logits !== undefined);

describe.each(["reference", "wasm"] as const)("families on %s compute what llama.cpp does", (backend) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
  });
  afterAll(() => runtime.dispose());

  test.each(decoding)("%s, whole and in three parts", async (name) => {
    const golden = readFamilyGolden(name);
    const bytes = familyModel(golden);
    for (const batchSize of [golden.ids.length, Math.ceil(golden.ids.length / 3)]) {
      await using model = await loadModel(bytes, { runtime, cacheType: "f32", batchSize });
      expect(relativeError(comparedLogits(await model.logits(golden.ids), golden), expectedLogits(golden))).toBeLessThan(
        golden.tolerance ?? exactError,
      );
    }
  });
});

describe("zeros in unset keys change nothing", () => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime({ backends: [] });
  });
  afterAll(() => runtime.dispose());

  test.each(decoding)("%s", async (name) => {
    const golden = readFamilyGolden(name);
    await using model = await loadModel(familyModel(withWritersDefaults(golden)), { runtime, cacheType: "f32" });
    expect(relativeError(comparedLogits(await model.logits(golden.ids), golden), expectedLogits(golden))).toBeLessThan(
      golden.tolerance ?? exactError,
    );
  });
});

test("every verified family has a golden here or logits in the outside test data", async () => {
  const outside = new Set(
    "cohere2 gemma gemma2 gemma3 gpt2 granite llama mistral3 olmo2 phi2 phi3 qwen2 qwen3 smollm3 stablelm starcoder2".split(" "),
  );
  const here = new Set<string>();
  for (const name of familyGoldens) {
    await using file = await readGguf(familyModel(readFamilyGolden(name)));
    const architecture = file.metadata.string("general.architecture");
    here.add(architecture);
    expect(architectureStatus(architecture), architecture).toBe("verified");
  }
  const verified = supportedArchitectures.filter((name) => architectureStatus(name) === "verified");
  expect(verified.filter((name) => !here.has(name) && !outside.has(name))).toEqual([]);
});

test("no architecture is both supported and refused", async () => {
  const refused = await refusedArchitectures();
  const loadable = [...supportedArchitectures, ...draftArchitectures];
  expect(loadable.filter((name) => refused.has(name))).toEqual([]);
  expect(new Set(loadable).size).toBe(loadable.length);
  expect(architectureStatus("clip")).toBeUndefined();
  expect(architectureStatus("eagle3")).toBe("draft");
});

test("the README lists every architecture", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const names = tableOfKinds(readme).flatMap((row) => row.names);
  expect(names.toSorted()).toEqual(supportedArchitectures.toSorted());
});

test("docs/parity.md has a row for each architecture, near llama.cpp's logits", async () => {
  const page = readFileSync(new URL("../../../docs/parity.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([^`]+)` \| \d+ \| (.+) \|$/gm)].map(([, name, cells]) => ({ name, cells: cells!.split(" | ") }));
  expect(rows.map(({ name }) => name).toSorted(), "run packages/llm/scripts/parity.mjs").toEqual(supportedArchitectures.toSorted());
  for (const { name, cells } of rows) for (const cell of cells) if (cell !== "–") expect(Number(cell), name).toBeLessThan(3e-2);
  const refused = [...page.split("are refused")[1]!.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, name, reason]) => [name, reason]);
  expect(new Map(refused as [string, string][])).toEqual(new Map(await refusedArchitectures()));
  const script: { parityPage(data: unknown): Promise<string> } = await import(new URL("../scripts/parityPage.mjs", import.meta.url).href);
  const data: unknown = JSON.parse(readFileSync(new URL("../../../docs/parity.json", import.meta.url), "utf8"));
  expect(page, "run packages/llm/scripts/parity.mjs").toBe(await script.parityPage(data));
});

test("the README's table has the distances of docs/parity.md", () => {
  const [readme, page] = ["../README.md", "../../../docs/parity.md"].map((path) => readFileSync(new URL(path, import.meta.url), "utf8"));
  const distances = new Map(
    [...page!.matchAll(/^\| `([^`]+)` \| \d+ \|(?: \S+ \|){3} (\S+) \|/gm)].map(([, name, wasm]) => [name, Number(wasm)]),
  );
  for (const { kind, names, distance } of tableOfKinds(readme!)) {
    expect(distance, kind).toBe(Math.max(...names.map((name) => distances.get(name)!)));
  }
});

/** The rows of the README's table of supported models. */
function tableOfKinds(readme: string): readonly { readonly kind: string; readonly names: readonly string[]; readonly distance: number }[] {
  return [...readme.matchAll(/^\| ([^|`]+?) +\| (`[^|]+`[^|]*)\| +(\d\S+) \|$/gm)].map(([, kind, list, distance]) => {
    return { kind: kind!, names: [...list!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!), distance: Number(distance) };
  });
}

test("the project's README counts the architectures", () => {
  const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
  expect(readme).toContain(`- **Models**: ${supportedArchitectures.length} architectures`);
});

/** The golden without its last layer of four. */
function withThreeLayers(golden: FamilyGolden): FamilyGolden {
  return {
    ...golden,
    metadata: golden.metadata.map((entry) => (entry[0].endsWith(".block_count") ? [entry[0], entry[1], 3] : entry)),
    tensors: Object.fromEntries(Object.entries(golden.tensors).filter(([name]) => !name.startsWith("blk.3."))),
  };
}

test("layers that attend within chunks of the text do not see the chunk before", async () => {
  const chunk = 8192;
  const golden = withThreeLayers(readFamilyGolden("llama4"));
  const metadata = golden.metadata.map(([key, ...rest]) =>
    key === "llama4.context_length" ? ([key, "u32", 2 * chunk] as const) : ([key, ...rest] as const),
  );
  await using runtime = await createRuntime({ backends: [wasm()], policy: { force: "wasm" } });
  await using model = await loadModel(familyModel({ ...golden, metadata }), { runtime, cacheType: "f32", contextLength: chunk + 64 });
  const alone = await model.logits(golden.ids);
  const before = Array.from({ length: chunk }, (_, i) => (i * i) % 40);
  const after = (await model.logits([...before, ...golden.ids])).slice(-alone.length);
  // Rope at positions from 8192 on is that much less exact in f32.
  expect(relativeError(after, alone)).toBeLessThan(1e-3);
});

test("blocks that guess further tokens are left out", async () => {
  const golden = readFamilyGolden("glm4moe");
  const withBlock = (guessing: number): FamilyGolden => ({
    ...golden,
    metadata: [
      ...golden.metadata.map((entry) => (entry[0] === "glm4moe.block_count" ? (["glm4moe.block_count", "u32", 4] as const) : entry)),
      ["glm4moe.nextn_predict_layers", "u32", guessing],
    ],
    tensors: { ...golden.tensors, "blk.3.nextn.eh_proj.weight": [32, 64] },
  });
  await using runtime = await createRuntime({ backends: [] });
  await using model = await loadModel(familyModel(withBlock(1)), { runtime, cacheType: "f32" });
  expect(relativeError(comparedLogits(await model.logits(golden.ids), golden), expectedLogits(golden))).toBeLessThan(
    golden.tolerance ?? exactError,
  );
  await expect(loadModel(familyModel(withBlock(4)), { runtime })).rejects.toThrow(
    "expected glm4moe.nextn_predict_layers from 0 to 3, got 4",
  );
});

test("a model that computes norms elsewhere is refused, naming the key", async () => {
  const golden = readFamilyGolden("chameleon");
  const metadata = [...golden.metadata, ["chameleon.swin_norm", "bool", true] as const];
  await using runtime = await createRuntime({ backends: [] });
  await expect(loadModel(familyModel({ ...golden, metadata }), { runtime })).rejects.toThrow(/chameleon\.swin_norm: unsupported/);
});

test("experts in a family without experts are refused, naming the tensor", async () => {
  const golden = readFamilyGolden("llama-moe");
  const metadata = golden.metadata.map(
    ([key, type, value]) => [key.replace(/^llama\./, "internlm2."), type, key === "general.architecture" ? "internlm2" : value] as const,
  );
  await using runtime = await createRuntime({ backends: [] });
  await expect(loadModel(familyModel({ ...golden, metadata }), { runtime })).rejects.toThrow(
    /internlm2 with experts: unsupported: .*blk\.0\.ffn_gate_inp/,
  );
});

describe.each(["reference", "wasm"] as const)("encoders on %s embed as llama.cpp does", (backend) => {
  const isEncoder = ({ metadata }: FamilyGolden): boolean =>
    metadata.some(([key, , value]) => key.endsWith("attention.causal") && value === false);
  test.each(embedding.filter((name) => isEncoder(readFamilyGolden(name))))("%s", async (name) => {
    await using runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
    const golden = readFamilyGolden(name);
    await using model = await loadModel(familyModel(golden), { runtime, sequences: 2 });
    const other = { ids: [...golden.ids.slice(0, 9)].reverse() };
    for (const pooling of ["mean", "cls", "last"] as const) {
      const options = { pooling, normalize: false };
      const [[vector], [alone]] = await Promise.all([model.embed([{ ids: golden.ids }], options), model.embed([other], options)]);
      expect(relativeError(vector!, floats(golden[pooling]!)), pooling).toBeLessThan(exactError);
      expect(alone).toEqual((await model.embed([other], options))[0]);
    }
    // The file's pooling type is "mean".
    const [byDefault] = await model.embed([{ ids: golden.ids }], { normalize: false });
    expect(relativeError(byDefault!, floats(golden.mean!))).toBeLessThan(exactError);
    await expect(model.logits(golden.ids)).rejects.toThrow(/logits: unsupported: the model is an encoder.*use model\.embed/);
    await expect(model.createSession().complete({ ids: golden.ids })).rejects.toThrow(/generate: unsupported: the model is an encoder/);
  });
});

describe.each(["reference", "wasm"] as const)("decoders after encoders on %s generate as llama.cpp does", (backend) => {
  test.each(familyGoldens.filter((name) => readFamilyGolden(name).text !== undefined))("%s", async (name) => {
    await using runtime = await createRuntime(backend === "wasm" ? { backends: [wasm()], policy: { force: "wasm" } } : { backends: [] });
    const golden = readFamilyGolden(name);
    const { ids } = golden;
    const text = golden.text!.slice(1);
    await using model = await loadModel(familyModel(withVocabulary(golden, "t5")), { runtime, cacheType: "f32", sequences: 2 });
    const options = { ...greedy, maxTokens: text.length };
    const session = model.createSession();
    const [decoded, other, again] = await Promise.all([
      decodedText(model, golden),
      // Another prompt in the same runs.
      model.createSession().complete({ ids: [...ids.slice(5, 16)].reverse() }, options),
      session.complete({ ids }, options),
    ]);
    expect(decoded.ids).toEqual(text);
    expect(relativeError(decoded.logprobs, expectedLogprobs(golden))).toBeLessThan(exactError);
    expect(again).toMatchObject({ ids: text, promptIds: ids, usage: { promptTokens: ids.length } });
    expect(other.ids).not.toEqual(text);
    const restored = await model.restoreSession(await session.save());
    expect((await restored.complete({ ids }, options)).ids).toEqual(text);
    const { promptIds, text: generated } = await session.complete("a b", options);
    expect(promptIds).toEqual([...model.tokenizer.encode("a b", { addSpecial: false }), model.tokenizer.eosId]);
    expect(generated).toMatch(/^\S/);
    const [states] = await model.embed([{ ids }], { pooling: "last" });
    expect(states!.length).toBe(model.info.embeddingLength);
    await expect(model.logits(ids)).rejects.toThrow(/logits: unsupported: the model has an encoder and a decoder/);
  });
});
