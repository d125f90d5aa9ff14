import type { GgmlType } from "@centella/quant";
import { describe, expect, test } from "vitest";
import { fileTypeById, type MixTensor, recipeOf, recipes, tensorTypes } from "../src/index.ts";
import fixture from "./fixtures/mixes.json" with { type: "json" };

/** What scripts/mixes.py found llama.cpp to choose, by tensor name or by pattern, `TYPE*LAYERS TYPE*LAYERS …`. */
type Types = Readonly<Record<string, string>>;
interface Model {
  readonly name: string;
  readonly layers: number;
  readonly ofNone: readonly (readonly [string, readonly number[]])[];
  readonly ofEach: readonly (readonly [string, readonly number[]])[];
  readonly mixes: Readonly<Record<string, { readonly plain: Types | null; readonly imatrix: Types | string }>>;
}
// TypeScript reads a pair in JSON as an array of either.
const models = fixture as unknown as readonly (Model & { architecture: string; headsPerKv: number; experts: number })[];

const pattern = (name: string): string => name.replace(/^blk\.\d+\./, "blk.{}.");

function tensorsOf({ layers, ofNone, ofEach }: Model): readonly MixTensor[] {
  const ofLayers = Array.from({ length: layers }, (_, layer) =>
    ofEach.map(([name, shape]) => ({ name: name.replace("{}", String(layer)), type: "f32" as const, shape })),
  );
  return [...ofNone.map(([name, shape]) => ({ name, type: "f32" as const, shape })), ...ofLayers.flat()];
}

function runs(types: readonly GgmlType[]): string {
  const found: { type: GgmlType; count: number }[] = [];
  for (const type of types) {
    const last = found.at(-1);
    if (last?.type === type) last.count++;
    else found.push({ type, count: 1 });
  }
  return found.map(({ type, count }) => `${type}*${count}`).join(" ");
}

/** The types in the fixture's form. */
function summary(tensors: readonly MixTensor[], types: readonly GgmlType[]): Types {
  const byPattern = new Map<string, GgmlType[]>();
  for (const [i, { name }] of tensors.entries()) byPattern.set(pattern(name), [...(byPattern.get(pattern(name)) ?? []), types[i]!]);
  return Object.fromEntries([...byPattern].map(([name, found]) => [name, name.startsWith("blk.") ? runs(found) : found[0]!]));
}

describe.each(models)("the types that llama.cpp gives a model of $name", (model) => {
  const tensors = tensorsOf(model);
  test.each(Object.keys(model.mixes))("%s", (name) => {
    const recipe = recipeOf(name);
    const { plain, imatrix } = model.mixes[name]!;
    // Refused there without an imatrix: see quantizePlan.
    if (plain !== null) expect(summary(tensors, tensorTypes(recipe, model, tensors))).toEqual(plain);
    const weighted = summary(tensors, tensorTypes(recipe, model, tensors, { hasImatrix: true }));
    expect(weighted).toEqual(imatrix === "the same" ? plain : imatrix);
  });
});

test("the order of the tensors in the file does not matter", () => {
  const model = models[0]!;
  const tensors = tensorsOf(model);
  const shuffled = tensors.toSorted((a, b) => a.name.split("").reverse().join("").localeCompare(b.name.split("").reverse().join("")));
  const types = tensorTypes("Q4_K_M", model, shuffled);
  const byName = new Map(shuffled.map(({ name }, i) => [name, types[i]]));
  expect(tensors.map(({ name }) => byName.get(name))).toEqual(tensorTypes("Q4_K_M", model, tensors));
});

test("names of recipes", () => {
  expect(recipeOf("q4_k_m")).toBe("Q4_K_M");
  expect(recipeOf("Q5_K")).toBe("Q5_K_M");
  expect(() => recipeOf("IQ2_XS")).toThrow(/expected one of F32, .*, got IQ2_XS, which is read but not written/);
  expect(() => recipeOf("Q9")).toThrow(/got 'Q9'/);
  expect(recipes.every((recipe) => recipeOf(recipe) === recipe)).toBe(true);
  expect(fileTypeById(15)?.name).toBe("Q4_K_M");
});
