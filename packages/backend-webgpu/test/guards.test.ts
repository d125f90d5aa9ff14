import { type CustomOp, createProgram } from "@centella/core";
import { expect, test } from "vitest";
import { describeOpened } from "./describeOpened.ts";
import { openGuarded } from "./openBackend.ts";

/** A copy of so many elements, whatever its output of 16 holds. */
function careless(elements: number): CustomOp {
  return {
    name: `careless${elements}`,
    inputs: ["x"],
    infer: ([x]) => x!,
    reference([x], _params, y) {
      y.data.set(x!.data);
    },
    wgsl: {
      lanes: 32,
      uniforms: { n: "u32" },
      body: "if (lane < p.n) { y[lane] = x[min(lane, 15u)]; }",
      dispatch: () => ({ groups: 1, values: { n: elements } }),
    },
  };
}

await describeOpened("a guarded backend", openGuarded(), (backend) => {
  test("finds writes after the end of an output", async () => {
    const run = async (op: CustomOp): Promise<void> => {
      const program = createProgram();
      program.output("y", program.sum(program.custom(op, [program.relu(program.input("x", "f32", [16]))])));
      const plan = await backend.compile(program);
      try {
        expect([...(await plan.run({ x: new Float32Array(16).fill(1) }).y!.data())]).toEqual([16]);
        await backend.idle();
      } finally {
        plan.dispose();
      }
    };
    await run(careless(16));
    await expect(run(careless(17))).rejects.toThrow("careless17 wrote outside of its output, 0 bytes behind its end");
    await expect(run(careless(32))).rejects.toThrow("careless32 wrote outside of its output");
    await run(careless(16));
    await backend.dispose();
  });
});
