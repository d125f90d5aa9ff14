import { describe, expect, test } from "vitest";
import type { FusedParams } from "../src/compiler/passes/fused.ts";
import { fuseEpilogues } from "../src/compiler/passes/fuseEpilogues.ts";
import { fusePrologues } from "../src/compiler/passes/fusePrologues.ts";
import { fuseSiblings } from "../src/compiler/passes/fuseSiblings.ts";
import { type AnchoredGroup, anchoredGroup, resultsOf, siblingsUnsupported, specAt } from "../src/compiler/passes/groupResults.ts";
import { createProgram, type Program, type Value } from "../src/index.ts";
import { accept, fuse } from "./support/passes.ts";

type Groups = Parameters<typeof siblingsUnsupported>;

/** The group that a program's products become, in the form in which backends are asked for it. */
function groupOf(record: (program: Program) => void): { inputs: Groups[0]; params: FusedParams } {
  const program = createProgram();
  record(program);
  const { nodes, values } = fuseSiblings(fuse(program).program, accept).program;
  const [node] = nodes.filter(({ op }) => op.name === "fused");
  return { inputs: node!.inputs.map((id) => values[id!]!.spec), params: node!.params as FusedParams };
}

const matrix = (program: Program, name: string, n = 6): Value => program.persistent(name, { dtype: "f32", shape: [n, 32] });
const times = (program: Program, x: Value, w: Value): Value => program.matmul(x, w, { transposeB: true });
const refusal = ({ inputs, params }: ReturnType<typeof groupOf>): string | undefined =>
  siblingsUnsupported(inputs, params, resultsOf(inputs.length, params));

/** `silu(x·gate) * (x·up)`, and `x·other` as a result without an epilogue. */
function gated(program: Program): void {
  const x = program.input("x", "f32", [program.dim("T", 8), 32]);
  const gate = program.silu(times(program, x, matrix(program, "gate")));
  program.output("y", program.mul(gate, times(program, x, matrix(program, "up"))));
  program.output("z", times(program, x, matrix(program, "other", 4)));
}

describe("resultsOf", () => {
  test("returns the calls of each result, and its elementwise calls as a group", () => {
    const { inputs, params } = groupOf(gated);
    const names = params.body.map(({ op }) => op.name);
    const [plain, finished] = resultsOf(inputs.length, params);
    const other = params.extraOutputs![0]!;
    expect(plain).toEqual({ call: other, calls: [other], anchors: [other], elementwise: undefined });
    const products = finished!.anchors;
    expect(products.map((index) => names[index])).toEqual(["matmul", "matmul"]);
    expect(finished!.calls).toEqual([...products, params.body.length - 2, params.body.length - 1]);
    expect(finished!.elementwise).toMatchObject({
      places: products.map((index) => inputs.length + index),
      output: { shape: [{ max: 8 }, 6] },
    });
    const { body } = finished!.elementwise!.params;
    expect(body.map(({ op, inputs: places }) => [op.name, places])).toEqual([
      ["silu", [0]],
      ["mul", [2, 1]],
    ]);
  });

  test("specAt finds inputs and results", () => {
    const { inputs, params } = groupOf(gated);
    expect(specAt(inputs, params, 1)).toBe(inputs[1]);
    expect(specAt(inputs, params, inputs.length)).toBe(params.body[0]!.output);
  });
});

describe("siblingsUnsupported", () => {
  test("accepts products of one tensor with rows of weights, with or without an epilogue", () => {
    expect(refusal(groupOf(gated))).toBeUndefined();
  });

  test("results that share a product", () => {
    const { inputs, params } = groupOf(gated);
    // The result of `silu` as an output, too.
    const extraOutputs = [params.body.length - 2];
    expect(siblingsUnsupported(inputs, params, resultsOf(inputs.length, { ...params, extraOutputs }))).toBe("results share calls");
  });

  const pair = (dims: readonly number[], transposeB = true, transposeA = false) =>
    groupOf((program) => {
      const x = program.input("x", "f32", transposeA ? [32, 8] : [8, 32]);
      for (const name of ["a", "b"]) {
        const w = program.persistent(name, { dtype: "f32", shape: dims });
        program.output(name, program.matmul(x, w, { transposeA, transposeB }));
      }
    });

  test.each([
    ["weights with contiguous columns", pair([32, 6], false), "weights whose rows are not contiguous"],
    ["rows of the tensor that do not", pair([6, 32], true, true), "weights whose rows are not contiguous"],
    ["batches of matrices", pair([1, 6, 32]), "batches of matrices, or matrices of unknown size"],
  ])("%s", (_what, group, reason) => {
    expect(refusal(group)).toBe(reason);
  });

  test("matrices of unknown size", () => {
    const { inputs, params } = pair([6, 32]);
    const dim = createProgram().dim("N", 6);
    const unknown = inputs.map((spec, i) => (i === 1 ? { ...spec!, shape: [dim, 32] } : spec));
    expect(refusal({ inputs: unknown, params })).toBe("batches of matrices, or matrices of unknown size");
  });

  /** The pair's group with one call changed. */
  const changed = (change: (call: FusedParams["body"][number]) => object) => {
    const { inputs, params } = pair([6, 32]);
    return { inputs, params: { ...params, body: params.body.map((call, i) => (i === 0 ? { ...call, ...change(call) } : call)) } };
  };

  test("results that are not f32", () => {
    expect(refusal(changed(({ output }) => ({ output: { ...output, dtype: "i32" } })))).toBe("i32 results after a product");
  });

  test.each([
    ["of another tensor", [1, 2]],
    ["of the tensor with itself", [0, 0]],
  ])("products %s", (_what, places) => {
    expect(refusal(changed(() => ({ inputs: places })))).toBe("products of several tensors");
  });

  test("products that read a result of the group", () => {
    const { inputs, params } = pair([6, 32]);
    const body = params.body.map((call, i) => (i === 1 ? { ...call, inputs: [0, inputs.length] } : call));
    expect(refusal({ inputs, params: { body } })).toBe("products of several tensors");
  });

  test("calls that are not products", () => {
    const { inputs, params } = groupOf(gated);
    const { op } = createSoftmax();
    const body = params.body.map((call, i) => (i === params.extraOutputs![0] ? { ...call, op } : call));
    expect(refusal({ inputs, params: { ...params, body } })).toBe("softmax is no product");
  });

  test("products whose epilogue broadcasts them", () => {
    const { inputs, params } = groupOf(gated);
    const body = params.body.map((call, i) => (i === 0 ? { ...call, output: { ...call.output, shape: [1, 6] } } : call));
    expect(refusal({ inputs, params: { ...params, body } })).toBe("products of another shape than their epilogue");
  });
});

describe("anchoredGroup", () => {
  /** The one group that passes form in a program. */
  const around = (record: (program: Program, x: Value, w: Value) => void) => {
    const program = createProgram();
    record(program, program.input("x", "f32", [program.dim("T", 8), 6]), program.input("w", "f32", [6]));
    const { nodes } = fusePrologues(fuseEpilogues(fuse(program).program, accept).program, accept).program;
    expect(nodes.length).toBe(1);
    return { count: nodes[0]!.inputs.length, params: nodes[0]!.params as FusedParams };
  };
  const told = ({ count, params }: ReturnType<typeof around>) => anchoredGroup(count, params);
  const norm = (p: Program, x: Value, w: Value): Value => p.rmsNorm(x, w, { eps: 1e-5 });
  const finished = (): ReturnType<typeof around> => around((p, x, w) => p.output("y", p.silu(p.mul(norm(p, x, w), x))));
  const fed = (isKept: boolean): ReturnType<typeof around> =>
    around((p, x, w) => {
      const made = p.tanh(p.mul(x, w));
      if (isKept) p.output("made", made);
      p.output("y", norm(p, made, w));
    });

  test("returns the elementwise calls before or after a call as a group", () => {
    const after = told(finished());
    expect(after).toMatchObject({ call: 0, isLast: false, isKept: false, elementwise: { places: [2, 0] } });
    const before = told(fed(false));
    expect(before).toMatchObject({ call: 2, isLast: true, isKept: false, elementwise: { places: [0, 1] } });
    expect(told(fed(true))).toMatchObject({ call: 2, isLast: true, isKept: true });
    const names = [after, before].map((found) => (found as AnchoredGroup).elementwise.params.body.map(({ op }) => op.name));
    expect(names).toEqual([
      ["mul", "silu"],
      ["mul", "tanh"],
    ]);
  });

  test("refuses other groups with the reason", () => {
    const loops = around((p, x, w) => p.output("y", p.silu(p.mul(x, w))));
    expect(told(loops)).toEqual({ unsupported: "functions of single elements alone" });
    const { count, params } = fed(false);
    const { body } = params;
    const again = { ...body[2]!, inputs: [count + 2, 1] };
    expect(told({ count, params: { body: [...body, again] } })).toEqual({
      unsupported: "more than one call that is not elementwise",
    });
    const withLast = (inputs: readonly (number | undefined)[]) => ({
      count,
      params: { body: [...body.slice(0, 2), { ...body[2]!, inputs }] },
    });
    expect(told(withLast([count + 1, undefined]))).toEqual({ unsupported: "rmsNorm without an optional tensor" });
    expect(told(withLast([count, 1]))).toEqual({ unsupported: "rmsNorm of several calls" });
    expect(told(withLast([count + 1, count]))).toEqual({ unsupported: "rmsNorm of several calls" });
    expect(told({ count, params: { body: [...body, { ...body[1]!, inputs: [count + 2] }] } })).toEqual({
      unsupported: "rmsNorm between other calls",
    });
    expect(told({ count, params: { body, extraOutputs: [0] } })).toEqual({ unsupported: "several results" });
    const { params: before, count: places } = finished();
    expect(told({ count: places, params: { ...before, extraOutputs: [1] } })).toEqual({ unsupported: "several results" });
  });
});

function createSoftmax() {
  const program = createProgram();
  program.output("y", program.softmax(program.input("x", "f32", [2])));
  return program.nodes[0]!;
}
