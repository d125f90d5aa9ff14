import { type CustomOp, createProgram } from "@centella/core";
import { expect, test } from "vitest";
import { CudaBackend } from "../../src/backend.ts";
import { InterpretedDriver } from "../interpreter/interpretedDriver.ts";

/** One thread that stores a 1 to an element of the tensor behind a parameter. */
function careless(parameter: "x" | "y", element: number): CustomOp {
  return {
    name: "careless",
    inputs: ["x"],
    infer: ([x]) => x!,
    reference([x], _params, y) {
      y.data.set(x!.data);
    },
    ptx: {
      launch: () => ({
        entry: "careless",
        grid: [1, 1, 1],
        block: [32, 1, 1],
        ptx: `.version 8.0
.target sm_80
.address_size 64
.visible .entry careless(.param .u64 x, .param .u64 y, .param .u64 dims)
.maxntid 32, 1, 1
{
  .reg .pred %p<1>;
  .reg .u32 %u<1>;
  .reg .u64 %l<2>;
  .reg .f32 %f<1>;
  mov.u32 %u0, %tid.x;
  setp.eq.u32 %p0, %u0, 0;
  @!%p0 bra $L0;
  ld.param.u64 %l0, [${parameter}];
  cvta.to.global.u64 %l1, %l0;
  mov.f32 %f0, 0f3F800000;
  st.global.f32 [%l1+${4 * element}], %f0;
$L0:
  ret;
}
`,
      }),
    },
  };
}

/** A program whose temporaries fill their places in the arena, so that they lie side by side in one allocation. */
async function run(op: CustomOp): Promise<void> {
  const backend = new CudaBackend(new InterpretedDriver());
  try {
    const program = createProgram();
    const x = program.relu(program.input("x", "f32", [64]));
    const y = program.custom(op, [x]);
    program.output("z", program.sum(program.softmax(program.add(y, program.softmax(x)))));
    const plan = await backend.compile(program);
    await plan.run({ x: new Float32Array(64) }).z!.data();
  } finally {
    await backend.dispose();
  }
}

test.each([
  ["one element too far", careless("y", 64), /write of 4 bytes outside of its tensors, 0 bytes behind the end of one of 256/],
  ["far behind its output", careless("y", 256), /write of 4 bytes outside of its tensors/],
  ["to what it reads", careless("x", 0), /write of 4 bytes outside of its tensors/],
])("a kernel that writes %s is found inside the arena", async (_name, op, message) => {
  await expect(run(op)).rejects.toThrow(message);
});
