import { uniform } from "@centella/conformance";
import { type CustomOp, createProgram, reference } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../src/backend.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";

/** `x * x + b`, a thread an element of `[T, 3]`. */
const squarePlus: CustomOp = {
  name: "squarePlus",
  inputs: ["x", "b"],
  infer: ([x]) => x!,
  reference([x, b], _params, y) {
    x!.data.forEach((value, i) => {
      y.data[i] = value * value + b!.data[i]!;
    });
  },
  ptx: {
    launch({ output, dimOffset }) {
      const [rows, columns] = output.shape as readonly [number, number];
      return {
        entry: "squarePlus",
        grid: [Math.ceil((rows * columns) / 32), 1, 1],
        block: [32, 1, 1],
        ptx: `.version 8.0
.target sm_80
.address_size 64
.visible .entry squarePlus(.param .u64 x, .param .u64 b, .param .u64 y, .param .u64 dims)
.maxntid 32, 1, 1
{
  .reg .pred %p<1>;
  .reg .u32 %u<6>;
  .reg .u64 %l<12>;
  .reg .f32 %f<4>;
  ld.param.u64 %l0, [dims];
  cvta.to.global.u64 %l1, %l0;
  ld.global.u32 %u0, [%l1+${dimOffset("T")}];
  mul.lo.u32 %u1, %u0, ${columns};
  mov.u32 %u2, %ctaid.x;
  mov.u32 %u3, %tid.x;
  mad.lo.u32 %u4, %u2, 32, %u3;
  setp.lt.u32 %p0, %u4, %u1;
  @!%p0 bra $L0;
  ld.param.u64 %l2, [x];
  cvta.to.global.u64 %l3, %l2;
  mad.wide.u32 %l4, %u4, 4, %l3;
  ld.global.f32 %f0, [%l4+0];
  ld.param.u64 %l5, [b];
  cvta.to.global.u64 %l6, %l5;
  mad.wide.u32 %l7, %u4, 4, %l6;
  ld.global.f32 %f1, [%l7+0];
  fma.rn.f32 %f2, %f0, %f0, %f1;
  ld.param.u64 %l8, [y];
  cvta.to.global.u64 %l9, %l8;
  mad.wide.u32 %l10, %u4, 4, %l9;
  st.global.f32 [%l10+0], %f2;
$L0:
  ret;
}
`,
      };
    },
  },
};

function recorded(op: CustomOp) {
  const program = createProgram();
  program.dim("unused", 3);
  const x = program.input("x", "f32", [program.dim("T", 40), 3]);
  program.output("y", program.relu(program.custom(op, [x, program.input("b", "f32", x.spec.shape)])));
  return program;
}

test("an op of the user's own runs its own PTX", async () => {
  const backend = new CudaBackend(new InterpretedDriver());
  const plan = await backend.compile(recorded(squarePlus));
  const scalar = await (await reference().open()).compile(recorded(squarePlus));
  for (const rows of [40, 1, 2, 17]) {
    const inputs = { x: uniform(rows, 3 * rows), b: uniform(rows + 1, 3 * rows) };
    const want = scalar.runSync!(inputs).y!;
    const got = await plan.run(inputs).y!.data();
    expect(got.length).toBe(3 * rows);
    got.forEach((value, i) => {
      expect(value).toBeCloseTo(want[i]!, 6);
    });
  }
  const { ptx: _, ...without } = squarePlus;
  await expect(backend.compile(recorded(without))).rejects.toThrow(/squarePlus came without a kernel for cuda/);
  await backend.dispose();
});
