import { describe, expect, test } from "vitest";
import { commonSubexpressions } from "../src/compiler/passes/commonSubexpressions.ts";
import {
  ArgumentError,
  type CustomOp,
  createBatch,
  createProgram,
  createRuntime,
  reference,
  ShapeError,
  UnsupportedError,
} from "../src/index.ts";
import { customOp } from "../src/program/custom.ts";

/** `x / (a + |x|)`: an op that core does not have. */
const softsign: CustomOp<{ readonly a: number }> = {
  name: "softsign",
  inputs: ["x"],
  defaults: { a: 1 },
  infer: ([x]) => x!,
  reference([x], { a }, y) {
    x!.data.forEach((value, i) => {
      y.data[i] = value / (a + Math.abs(value));
    });
  },
};

describe("a custom op", () => {
  test("runs on the reference, in a program with symbolic dims, with other ops around it", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 4), 2]);
    program.output("y", program.relu(program.custom(softsign, [program.scale(x, { by: 2 })], { a: 3 })));
    const plan = await (await reference().open()).compile(program);
    expect(plan.runSync!({ x: Float32Array.of(0.5, -1) }).y).toEqual(Float32Array.of(0.25, 0));
    expect(plan.runSync!({ x: Float32Array.of(0.5, -1, 3, 1.5) }).y!.length).toBe(4);
  });

  test("is an eager call, a link of a lazy chain and a member of a batch", async () => {
    await using runtime = await createRuntime({ backends: [] });
    using y = await runtime.custom(softsign, [runtime.tensor(Float32Array.of(1, -3))]);
    expect([...(await y.data())]).toEqual([0.5, -0.75]);
    expect([...(await runtime.lazy(Float32Array.of(1, -3)).neg().custom(softsign).scale({ by: 4 }).data())]).toEqual([-2, 3]);
    using batch = createBatch(runtime.backends[0]!);
    const handle = batch.custom(softsign, [batch.upload(Float32Array.of(1))], { a: 0 });
    await batch.execute();
    expect([...(await batch.read(handle))]).toEqual([1]);
  });

  test("keeps its identity over several uses; another op of the same name is a different op", async () => {
    expect(customOp(softsign)).toBe(customOp(softsign));
    const program = createProgram();
    const x = program.input("x", "f32", [2]);
    const other = { ...softsign };
    for (const [name, op] of Object.entries({ first: softsign, again: softsign, other })) program.output(name, program.custom(op, [x]));
    expect(commonSubexpressions(program).nodes.length).toBe(2);
    await using runtime = await createRuntime({ backends: [] });
    const tensor = runtime.tensor(Float32Array.of(1));
    const twice: typeof softsign = { ...softsign, reference: ([value], _params, y) => y.data.set([2 * value!.data[0]!]) };
    expect([...(await (await runtime.custom(softsign, [tensor])).data())]).toEqual([0.5]);
    expect([...(await (await runtime.custom(twice, [tensor])).data())]).toEqual([2]);
  });

  test("has a cost: its own, or one flop an element", () => {
    const spec = { dtype: "f32", shape: [2, 3] } as const;
    expect(customOp(softsign).cost([spec], { a: 1 }, spec)).toEqual({ flops: 6, bytes: 48 });
    const costly = customOp({ ...softsign, cost: () => ({ flops: 7, bytes: 8 }) });
    expect(costly.cost([spec], { a: 1 }, spec)).toEqual({ flops: 7, bytes: 8 });
  });

  test("refuses wrong definitions and calls with the reason", async () => {
    const program = createProgram();
    const x = program.input("x", "f32", [2]);
    const call = (op: CustomOp, inputs = [x], params = {}) => program.custom(op, inputs, params);
    expect(() => call({ ...softsign, name: "relu" } as CustomOp)).toThrow(
      /expected name to be an identifier that is no op of Centella, got "relu"/,
    );
    expect(() => call({ ...softsign, name: "a b" } as CustomOp)).toThrow(ArgumentError);
    expect(() => call({ ...softsign, inputs: ["y"] } as CustomOp)).toThrow(
      /softsign: expected inputs to be different identifiers, none of y/,
    );
    expect(() => call({ ...softsign, inputs: ["x", "x"] } as CustomOp, [x, x])).toThrow(ArgumentError);
    expect(() => call(softsign as CustomOp, [])).toThrow(/softsign: expected 1 tensors \(x\), got none/);
    expect(() => call(softsign as CustomOp, [x, x])).toThrow(/softsign: expected 1 tensors \(x\), got 2/);
    expect(() => call(softsign as CustomOp, [x], { b: 1 })).toThrow(/softsign: expected options among \{a\}, got b/);
    expect(() => call({ ...softsign, infer: () => ({ dtype: "f32", shape: [-1] }) } as CustomOp)).toThrow(ShapeError);
    // @ts-expect-error: the parameter's type is the definition's.
    expect(() => program.custom(softsign, [x], { a: "1" })).not.toThrow();
  });

  test("without a kernel for a backend is refused there with a message", async () => {
    const program = createProgram();
    program.output("y", program.custom(softsign, [program.input("x", "f32", [2])]));
    const picky = {
      name: "picky",
      unsupported: ({ kernels }: { kernels?: object }) => (kernels ? "softsign came without a kernel" : undefined),
    };
    expect(() => program.explain(picky)).toThrow(UnsupportedError);
    expect(program.explain()).toContain("softsign(x, a: 1)  (2 flops, 16 bytes, at 0)");
  });
});
