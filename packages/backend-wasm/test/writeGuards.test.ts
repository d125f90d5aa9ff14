import { type CustomOp, createProgram, KernelError } from "@centella/core";
import { expect, test } from "vitest";
import { f32x4, ModuleBuilder, v128 } from "../src/emit/index.ts";
import { wasm } from "../src/index.ts";

/**
 * A copy that stores `vectors` vectors, starting `skip` bytes after its output's address, whatever the output's size.
 */
function careless(vectors: number, skip = 0): CustomOp {
  return {
    name: "careless",
    inputs: ["x"],
    defaults: {},
    infer: ([x]) => x!,
    reference([x], _params, y) {
      y.data.set(x!.data);
    },
    wasm: {
      module({ shared }) {
        const module = new ModuleBuilder({ shared });
        module.function("run", { x: "i32", y: "i32" }, (f, { x, y }) => {
          f.advance(y, skip);
          for (let i = 0; i < vectors; i++) {
            f.store(y, f32x4.add(v128.load(x), v128.zero()));
            f.advance(x, 16);
            f.advance(y, 16);
          }
        });
        return module.build();
      },
    },
  };
}

async function run(op: CustomOp, extent: number, options: { readonly checkWrites?: boolean }): Promise<void> {
  const backend = await wasm(options).open();
  try {
    const program = createProgram();
    program.output("y", program.custom(op, [program.input("x", "f32", [extent])]));
    const plan = await backend.compile(program);
    const x = new Float32Array(extent).fill(1);
    expect([...(await plan.run({ x }).y!.data())]).toEqual([...x]);
    plan.runSync!({ x });
  } finally {
    await backend.dispose();
  }
}

test.each([
  ["a whole tail of a vector too far", careless(2), 7, /careless: .* wrote outside its output, 0 bytes after node %1/],
  ["one element too far", careless(1, 4), 4, /wrote outside its output, 0 bytes after node %1/],
  ["before its output", careless(1, -4), 4, /wrote outside its output, \d+ bytes after input %0/],
  ["far after its output", careless(1, 48), 4, /wrote outside its output, 32 bytes after node %1/],
])("found: %s", async (_name, op, extent, message) => {
  await expect(run(op, extent, { checkWrites: true })).rejects.toThrow(message);
});

test("the error is a KernelError, and the next run is clean", async () => {
  const backend = await wasm({ checkWrites: true }).open();
  const program = createProgram();
  const x = program.input("x", "f32", [3]);
  program.output("y", program.relu(x));
  program.output("z", program.custom(careless(1), [x]));
  const plan = await backend.compile(program);
  const inputs = { x: Float32Array.of(1, 2, 3) };
  expect(() => plan.runSync!(inputs)).toThrow(KernelError);
  await expect(plan.run(inputs).z!.data()).rejects.toThrow(/relu, careless|careless, relu/);
  await backend.dispose();
});

test("correct kernels pass, and without the option nothing is checked", async () => {
  await run(careless(1), 4, { checkWrites: true });
  await run(careless(2), 7, {});
  expect(() => wasm({ checkWrites: 1 as never })).toThrow("wasm: expected checkWrites to be true or false, got 1");
});
