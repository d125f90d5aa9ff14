import { createProgram, type Program, type Value } from "@centella/core";
import { entryOf, type FusedParams, isFused, type Lowered, lower, planSlots, type Storage, type Unsupported } from "@centella/core/backend";
import { expect, test } from "vitest";
import { gpuKernels, groupUnsupported, type ProjectedStep, projectedSteps, withProjectedLives } from "../src/index.ts";

const [depth, heads, size, tokens] = [8, 2, 4, 3];

/** Queries, keys and values of a norm, of which keys and values go to a cache. `record` may read any of the products. */
function recorded(record: (program: Program, products: { readonly q: Value; readonly k: Value; readonly v: Value }) => void): Program {
  const program = createProgram();
  const rows = program.softmax(program.input("x", "f32", [tokens, depth]));
  const [q, k, v] = ["q", "k", "v"].map((name) =>
    program.matmul(rows, program.persistent(name, { dtype: "f32", shape: [heads * size, depth] }), { transposeB: true }),
  ) as [Value, Value, Value];
  const [positions, slots] = ["positions", "slots"].map((name) => program.input(name, "i32", [tokens])) as [Value, Value];
  const perHead = (value: Value): Value => program.reshape(value, { shape: [tokens, heads, size] });
  const [queries, keys] = [q, k].map((value) => program.rope(perHead(value), positions, { ropeType: "norm" })) as [Value, Value];
  const cache = program.persistent("cache", { dtype: "f32", shape: [5, heads, 2 * size] }, { init: "zeros" });
  program.output("cache", program.kvWrite(cache, keys, perHead(v), slots));
  program.output("queries", program.softmax(queries));
  record(program, { q, k, v });
  return program;
}

const unsupported: Unsupported = (op, inputs, params) =>
  isFused(op) ? groupUnsupported(inputs, params as FusedParams, (name) => gpuKernels[name as keyof typeof gpuKernels]) : undefined;

function lowered(record: Parameters<typeof recorded>[0] = () => undefined): Lowered {
  return lower(recorded(record), "test", unsupported, { memoryModel: "buffers" });
}

/** What steps write and read, without the program's outputs. */
const temporariesOf = ({ steps, storages }: Lowered): readonly Storage[] =>
  storages.filter(({ definition, last }) => definition.kind === "node" && last < steps.length);

/** The only projections of a program, and the index of their products. */
function onlyProjections(program: Lowered): readonly [index: number, ProjectedStep] {
  const [found, ...others] = projectedSteps(program);
  expect(others).toEqual([]);
  return found!;
}

test("products and the write that follows them are one step, with the inputs and the results of both", () => {
  const program = lowered();
  const [index, { projections, step, products, write }] = onlyProjections(program);
  expect([products, write]).toEqual(program.steps.slice(index, index + 2));
  expect(projections.products).toMatchObject({ inputs: products.inputs.length, extraOutputs: 2 });
  expect(step.inputs).toEqual([...products.inputs, ...write.inputs]);
  // Three products, and the turned queries.
  expect(step.extraOutputs).toEqual([...products.extraOutputs!, products.output, write.extraOutputs![0]]);
  expect(step.output).toBe(write.output);
  expect(projections.write.sources.filter((source) => source !== undefined).toSorted()).toEqual([0, 1, 2]);
  projections.write.sources.forEach((source, i) => {
    if (source !== undefined) expect(step.extraOutputs![source]!.storage).toBe(write.inputs[i]!.storage);
  });
});

test("results of a write are stored while its products still read", () => {
  const program = lowered();
  const [index, { products, write }] = onlyProjections(program);
  const temporaries = temporariesOf(program);
  const [queries] = write.extraOutputs!.map(({ storage }) => storage);
  const lives = withProjectedLives(temporaries, projectedSteps(program));
  expect(lives).toEqual(temporaries.map((storage) => (storage === queries ? { ...storage, first: index } : storage)));
  expect(queries!.first).toBe(index + 1);

  // The rows' memory is free for the queries after the products, but not while both are one step.
  const [rows] = products.inputs;
  const isShared = (storages: typeof temporaries): boolean => {
    const { slotOf } = planSlots(storages);
    return slotOf.get(queries!.id) === slotOf.get(rows!.storage.id);
  };
  expect([isShared(temporaries), isShared(lives)]).toEqual([true, false]);
  const { slotOf } = planSlots(lives);
  const own = entryOf(slotOf, queries!.id);
  for (const { storage } of [...products.extraOutputs!, products.output]) expect(entryOf(slotOf, storage.id)).not.toBe(own);
});

test("the cache, and what other steps compute, keep their lives", () => {
  const program = lowered();
  const projected = projectedSteps(program);
  const changed = withProjectedLives(program.storages, projected).filter((storage, i) => storage !== program.storages[i]);
  const [, { write }] = onlyProjections(program);
  expect(changed.map(({ id }) => id)).toEqual([write.extraOutputs![0]!.storage.id]);
  expect(withProjectedLives(program.storages, new Map())).toEqual(program.storages);
});

test.each(["q", "k", "v"] as const)("products of which %s is read later stay apart from the write", (name) => {
  const program = lowered((p, products) => p.output("later", p.softmax(products[name])));
  expect(projectedSteps(program).size).toBe(0);
  expect(program.steps.filter(({ op }) => isFused(op)).length).toBeGreaterThanOrEqual(2);
});

test("products that are results of the program stay apart from the write", () => {
  expect(projectedSteps(lowered((p, { k }) => p.output("k", k))).size).toBe(0);
});
