import { describe, expect, test } from "vitest";
import { fuse as fuseAll } from "../src/compiler/passes/fuse.ts";
import { compose, type FusedParams } from "../src/compiler/passes/fused.ts";
import { fuseNorms } from "../src/compiler/passes/fuseNorms.ts";
import type { FusionLimits } from "../src/compiler/passes/grouping.ts";
import { normedProducts } from "../src/compiler/passes/normedProducts.ts";
import { createProgram, type Program, reference, type Value } from "../src/index.ts";
import type { ProgramGraph } from "../src/program/programGraph.ts";
import { accept, beforeAndAfter, bodies } from "./support/passes.ts";

/** Tensors of a layer of eight channels. */
function inputs(program: Program) {
  const T = program.dim("T", 4);
  return {
    x: program.input("x", "f32", [T, 8]),
    y: program.input("y", "f32", [T, 8]),
    w: program.input("w", "f32", [8]),
  };
}

type Inputs = ReturnType<typeof inputs>;
const matrix = (program: Program, name: string, rows = 8): Value => program.input(name, "f32", [rows, 8]);
const times = (program: Program, x: Value, name: string): Value => program.matmul(x, matrix(program, name), { transposeB: true });
const normed = (program: Program, x: Value, { w }: Inputs): Value => program.rmsNorm(x, w, { eps: 1e-5 });

/** The program after all passes before the norms' and that one. */
function optimised(program: ProgramGraph, limits: FusionLimits = {}): ProgramGraph {
  return fuseAll(program, accept, limits).program;
}

function fusedBodies(record: (program: Program, all: Inputs) => void, limits?: FusionLimits): readonly string[] {
  const program = createProgram();
  record(program, inputs(program));
  return bodies(optimised(program, limits));
}

describe("fuseNorms", () => {
  test("a sum, its norm and the products of the norm are one node, and the sum is a result", () => {
    const program = createProgram();
    const all = inputs(program);
    const sum = program.add(all.x, all.y);
    const norm = normed(program, sum, all);
    const [a, b] = ["a", "b"].map((name) => times(program, norm, name)) as [Value, Value];
    program.output("a", program.softmax(a));
    program.output("b", program.add(program.max(b, { axis: -1, keepDims: true }), sum));
    expect(beforeAndAfter(program, optimised)).toMatchInlineSnapshot(`
      "before
      input x: f32 [T≤4, 8]
      input y: f32 [T≤4, 8]
      input w: f32 [8]
      input a: f32 [8, 8]
      input b: f32 [8, 8]
      %3: f32 [T≤4, 8] = add(x, y)
      %4: f32 [T≤4, 8] = rmsNorm(%3, w, eps: 0.00001)
      %6: f32 [T≤4, 8] = matmul(%4, a, transposeA: false, transposeB: true, activations: "f32")
      %8: f32 [T≤4, 8] = matmul(%4, b, transposeA: false, transposeB: true, activations: "f32")
      %9: f32 [T≤4, 8] = softmax(%6, axis: -1)
      %10: f32 [T≤4, 1] = max(%8, axis: -1, keepDims: true)
      %11: f32 [T≤4, 8] = add(%10, %3)
      output a: %9 to the host
      output b: %11 to the host

      after
      input x: f32 [T≤4, 8]
      input y: f32 [T≤4, 8]
      input w: f32 [8]
      input a: f32 [8, 8]
      input b: f32 [8, 8]
      %3: f32 [T≤4, 8], %6: f32 [T≤4, 8], %8: f32 [T≤4, 8] = fused(x, y, w, a, b)
        .0 = add(x, y)
        .1 = rmsNorm(.0, w, eps: 0.00001)
        .2 = matmul(.1, a, transposeA: false, transposeB: true, activations: "f32")
        .3 = matmul(.1, b, transposeA: false, transposeB: true, activations: "f32")
      %9: f32 [T≤4, 8] = softmax(%6, axis: -1)
      %10: f32 [T≤4, 1] = max(%8, axis: -1, keepDims: true)
      %11: f32 [T≤4, 8] = add(%10, %3)
      output a: %9 to the host
      output b: %11 to the host
      "
    `);
  });

  test("a gated product, a product with an epilogue and a bare product take the norm before them", () => {
    expect(
      fusedBodies((p, all) => {
        const norm = normed(p, all.x, all);
        p.output("y", p.mul(p.silu(times(p, norm, "gate")), times(p, norm, "up")));
      }),
    ).toEqual(["rmsNorm+matmul+matmul+silu+mul"]);
    expect(fusedBodies((p, all) => p.output("y", p.add(times(p, normed(p, all.x, all), "a"), all.y)))).toEqual(["rmsNorm+matmul+add"]);
    expect(fusedBodies((p, all) => p.output("y", times(p, normed(p, all.x, all), "a")))).toEqual(["rmsNorm+matmul"]);
  });

  test("other readers of the norm, other uses of it and another norm keep them apart", () => {
    const isOutput = fusedBodies((p, all) => {
      const norm = normed(p, all.x, all);
      p.output("norm", norm);
      p.output("y", times(p, norm, "a"));
    });
    expect(isOutput).toEqual(["rmsNorm", "matmul"]);
    const read = fusedBodies((p, all) => {
      const norm = normed(p, all.x, all);
      p.output("y", times(p, norm, "a"));
      p.output("z", p.softmax(norm));
    });
    expect(read).toEqual(["rmsNorm", "matmul", "softmax"]);
    const residual = fusedBodies((p, all) => {
      const norm = normed(p, all.x, all);
      p.output("y", p.add(times(p, norm, "a"), norm));
    });
    expect(residual).toEqual(["rmsNorm", "matmul+add"]);
    expect(fusedBodies((p, all) => p.output("y", p.matmul(matrix(p, "a"), normed(p, all.x, all), { transposeB: true })))).toEqual([
      "rmsNorm",
      "matmul",
    ]);
    const squared = fusedBodies((p, all) => {
      const norm = normed(p, all.x, all);
      p.output("y", p.matmul(norm, norm, { transposeB: true }));
    });
    expect(squared).toEqual(["rmsNorm", "matmul"]);
    expect(fusedBodies((p, all) => p.output("y", times(p, p.layerNorm(all.x, all.w, { eps: 1e-5 }), "a")))).toEqual([
      "layerNorm",
      "matmul",
    ]);
    expect(fusedBodies((p, all) => p.output("y", times(p, p.relu(normed(p, all.x, all)), "a")))).toEqual(["rmsNorm+relu", "matmul"]);
  });

  test("a sum that is read before or in the products, and a state that is written before them, keep them apart", () => {
    const before = fusedBodies((p, all) => {
      const sum = p.add(all.x, all.y);
      const norm = normed(p, sum, all);
      p.output("other", p.softmax(sum));
      p.output("y", times(p, norm, "a"));
    });
    expect(before).toEqual(["add+rmsNorm", "softmax", "matmul"]);
    const inside = fusedBodies((p, all) => {
      const sum = p.add(all.x, all.y);
      p.output("y", p.add(times(p, normed(p, sum, all), "a"), sum));
    });
    expect(inside).toEqual(["add+rmsNorm", "matmul+add"]);
    const written = fusedBodies((p, all) => {
      const state = p.persistent("state", { dtype: "f32", shape: [4, 8] }, { init: "zeros" });
      const norm = normed(p, state, all);
      p.assign(state, p.input("next", "f32", [4, 8]));
      p.output("y", times(p, norm, "a"));
    });
    expect(written).toEqual(["rmsNorm", "assign", "matmul"]);
  });

  test("groups stay within a backend's limits, and a refused one stays two nodes, with the reason", () => {
    const record = (p: Program, all: Inputs): void => p.output("y", times(p, normed(p, all.x, all), "a"));
    expect(fusedBodies(record, { maxInputs: 3 })).toEqual(["rmsNorm+matmul"]);
    expect(fusedBodies(record, { maxInputs: 2 })).toEqual(["rmsNorm", "matmul"]);
    const program = createProgram();
    record(program, inputs(program));
    const { program: same, refused } = fuseNorms(program, () => "norms are rows of their own");
    expect(same.nodes).toEqual(program.nodes);
    expect(refused).toEqual([{ ops: ["rmsNorm", "matmul"], reason: "norms are rows of their own" }]);
  });

  test.each(Array.from({ length: 40 }, (_, seed) => seed))("the reference returns the same bits, layers of seed %i", async (seed) => {
    const program = randomLayers(seed);
    const data = Object.fromEntries(
      [...program.inputs].map(([name, id], place) => {
        const { shape } = program.values[id]!.spec;
        const length = shape.reduce<number>((count, dim) => count * (typeof dim === "number" ? dim : 3), 1);
        return [name, Float32Array.from({ length }, (_, i) => Math.sin(i + 10 * place + seed))];
      }),
    );
    const [one, other] = await Promise.all(
      [true, false].map(async (optimize) => {
        const plan = await (await reference({ optimize }).open()).compile(program);
        return [plan.runSync!(data), plan.runSync!(data)];
      }),
    );
    expect(one).toEqual(other);
  });

  test("the random layers have groups of every form", () => {
    const found = Array.from({ length: 40 }, (_, seed) => bodies(optimised(randomLayers(seed)))).flat();
    const groups = found.filter((body) => /rmsNorm\+matmul/.test(body));
    for (const form of [/^rmsNorm\+matmul$/, /^add\+rmsNorm\+matmul/, /^rmsNorm\+matmul\+matmul/, /^rmsNorm\+matmul\+silu/])
      expect(groups.some((body) => form.test(body))).toBe(true);
    expect(found.some((body) => /rmsNorm$/.test(body))).toBe(true);
  });
});

/** Norms and products of random forms one after the other: sums read again anywhere, several readers, a state in between. */
function randomLayers(seed: number): Program {
  let state = seed + 1;
  const draw = (n: number): number => {
    state = (state * 48271) % 2147483647;
    return Math.floor((state / 2147483647) * n);
  };
  const program = createProgram();
  const all = inputs(program);
  let memory = program.persistent("state", { dtype: "f32", shape: [8] }, { init: "zeros" });
  let x = all.x;
  for (let layer = 0; layer < 3; layer++) {
    const source = [x, program.add(x, all.y), program.add(x, memory)][draw(3)]!;
    const norm = normed(program, source, all);
    const products = Array.from({ length: 1 + draw(3) }, (_, i) => times(program, norm, `m${layer}.${i}`));
    const [first, second = first] = products as [Value, ...Value[]];
    if (draw(3) === 0) memory = program.assign(memory, program.max(source, { axis: 0 }));
    const results = [
      () => first,
      () => program.mul(program.silu(first), second),
      () => program.add(first, source),
      () => program.add(program.softmax(second), source),
      () => program.add(first, norm),
    ];
    x = results[draw(results.length)]!();
    products.forEach((product, i) => {
      if (draw(3) > 0) program.output(`y${layer}.${i}`, product);
    });
  }
  program.output("x", x);
  program.output("state", memory);
  return program;
}

describe("compose", () => {
  test("extra outputs of groups among the nodes stay extra outputs, at their places in the new body", () => {
    const program = createProgram();
    const all = inputs(program);
    const sum = program.add(all.x, all.y);
    const a = times(program, normed(program, sum, all), "a");
    program.output("a", a);
    program.output("z", program.softmax(sum));
    const [add, norm, product] = program.nodes;
    const inner = compose(program.values, [add!, norm!], new Set([sum.id]));
    expect(inner.extraOutputs).toEqual([sum.id]);
    const whole = compose(program.values, [inner, product!]);
    expect(whole).toMatchObject({ output: a.id, extraOutputs: [sum.id], params: { extraOutputs: [0] } });
    expect(whole.params.body.map(({ op, inputs: places }) => [op.name, places])).toEqual([
      ["add", [0, 1]],
      ["rmsNorm", [4, 2]],
      ["matmul", [5, 3]],
    ]);
    // A member that reads the inner group's extra result reads the call that computes it.
    const again = compose(program.values, [inner, program.nodes[3]!]);
    expect(again.params.body.at(-1)!.inputs).toEqual([3]);
  });
});

describe("normedProducts", () => {
  /** The only group of a program. */
  const groupOf = (record: (program: Program, all: Inputs) => void): { count: number; params: FusedParams } => {
    const program = createProgram();
    record(program, inputs(program));
    const [node] = optimised(program).nodes.filter(({ op }) => op.name === "fused");
    return { count: node!.inputs.length, params: node!.params as FusedParams };
  };
  const split = ({ count, params }: ReturnType<typeof groupOf>) => normedProducts(count, params);

  test("splits a group after its norm; the products' first input is the norm's result", () => {
    const group = groupOf((p, all) => {
      const sum = p.add(all.x, all.y);
      const norm = normed(p, sum, all);
      p.output("gated", p.softmax(p.mul(p.silu(times(p, norm, "gate")), times(p, norm, "up"))));
      p.output("other", p.softmax(times(p, norm, "other")));
      p.output("sum", p.softmax(sum));
    });
    const { norm, products } = split(group)!;
    expect(norm).toEqual({ body: group.params.body.slice(0, 2), extraOutputs: [0] });
    expect(products.extraOutputs).toEqual([2]);
    const [gate, up, other] = ["gate", "up", "other"].map((_, i) => 4 + i) as [number, number, number];
    expect(products.body.map(({ op, inputs: places }) => [op.name, places])).toEqual([
      ["matmul", [0, gate]],
      ["matmul", [0, up]],
      ["matmul", [0, other]],
      ["silu", [group.count + 1]],
      ["mul", [group.count + 4, group.count + 2]],
    ]);
  });

  test("is undefined for groups of a norm alone, of products alone, and of products that read the norm's sum", () => {
    expect(split(groupOf((p, all) => p.output("y", normed(p, p.add(all.x, all.y), all))))).toBeUndefined();
    expect(split(groupOf((p, all) => p.output("y", p.relu(times(p, all.x, "a")))))).toBeUndefined();
    const { count, params } = groupOf((p, all) => {
      const sum = p.add(all.x, all.y);
      p.output("y", p.relu(times(p, normed(p, sum, all), "a")));
      p.output("sum", p.softmax(sum));
    });
    const last = { ...params.body.at(-1)!, inputs: [count] };
    expect(normedProducts(count, { ...params, body: [...params.body.slice(0, -1), last] })).toBeUndefined();
  });
});
