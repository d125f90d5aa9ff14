import { uniform } from "@centella/conformance";
import { type CustomOp, createProgram, KernelError, reference, UnsupportedError } from "@centella/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WasmBackend } from "../src/backend.ts";
import { f32x4, i32, ModuleBuilder, v128 } from "../src/emit/index.ts";
import { wasm } from "../src/index.ts";

let backend: WasmBackend;
beforeEach(async () => {
  backend = (await wasm().open()) as WasmBackend;
});
afterEach(() => backend.dispose());

/** `x / (a + |x|) + b`, four elements at a time: rows are as wide as a vector. */
const softsign: CustomOp<{ readonly a: number }> = {
  name: "softsign",
  inputs: ["x", "b"],
  defaults: { a: 1 },
  infer: ([x]) => x!,
  reference([x, b], { a }, y) {
    x!.data.forEach((value, i) => {
      y.data[i] = value / (a + Math.abs(value)) + b!.data[i]!;
    });
  },
  wasm: {
    module({ shared }) {
      const module = new ModuleBuilder({ shared });
      module.function("run", { x: "i32", b: "i32", y: "i32", vectors: "i32", a: "f32" }, (f, { x, b, y, vectors, a }) => {
        const offset = f.let(f32x4.splat(a));
        f.while(vectors, () => {
          const value = f.let(v128.load(x));
          f.store(y, f32x4.add(f32x4.div(value, f32x4.add(offset, f32x4.abs(value))), v128.load(b)));
          for (const pointer of [x, b, y]) f.advance(pointer, 16);
          f.set(vectors, i32.sub(vectors, 1));
        });
      });
      return module.build();
    },
    args: ({ params: { a }, output }) => [output.shape[0]!, a],
  },
};

function twice(op: typeof softsign) {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 6), 4]);
  const b = program.input("b", "f32", x.spec.shape);
  program.output("y", program.custom(op, [program.custom(op, [program.scale(x, { by: 2 }), b]), b], { a: 0.5 }));
  return program;
}

test("a custom op runs its own WASM and matches the reference", async () => {
  const plan = await backend.compile(twice(softsign));
  const scalar = await (await reference().open()).compile(twice(softsign));
  for (const rows of [6, 0, 1, 3]) {
    const inputs = { x: uniform(1, 4 * rows), b: uniform(2, 4 * rows) };
    const want = scalar.runSync!(inputs).y!;
    const got = plan.runSync!(inputs).y!;
    expect(got.length).toBe(want.length);
    got.forEach((value, i) => {
      expect(value).toBeCloseTo(want[i]!, 6);
    });
    expect(await plan.run(inputs).y!.data()).toEqual(got);
  }
  expect(backend.counters.ops.softsign).toBe(16);
});

test("refusals give a reason", async () => {
  const { wasm: _, ...without } = softsign;
  await expect(backend.compile(twice(without))).rejects.toThrow(/wasm: softsign: unsupported: softsign came without a kernel for wasm/);
  const broken = (bytes: Uint8Array<ArrayBuffer>) => ({ ...softsign, wasm: { module: () => bytes } });
  await expect(backend.compile(twice(broken(new Uint8Array(3))))).rejects.toThrow(KernelError);
  await expect(backend.compile(twice(broken(new ModuleBuilder({}).build())))).rejects.toThrow(KernelError);
  const program = createProgram();
  const first = { ...softsign, inputs: ["x"], infer: () => ({ dtype: "f32", shape: [32] }) as const };
  program.output("y", program.custom(first, [program.persistent("w", { dtype: "q8_0", shape: [32] })]));
  await expect(backend.compile(program)).rejects.toThrow(UnsupportedError);
});
