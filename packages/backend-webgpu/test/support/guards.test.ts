import { type Backend, type CustomOp, createProgram, DisposedError } from "@centella/core";
import { afterAll, expect, test } from "vitest";
import { defineDispatch, output } from "../../src/wgsl/module.ts";
import { runDispatches } from "../kernels/runDispatches.ts";
import { describeOpened } from "./describeOpened.ts";
import { openBackend, openGuardedDevice } from "./openBackend.ts";

/** An op that writes `elements` elements to its output, which has room for 16. */
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

/** Runs the op `times` times. */
async function run(backend: Backend, op: CustomOp, times = 1): Promise<void> {
  const program = createProgram();
  program.output("y", program.sum(program.custom(op, [program.relu(program.input("x", "f32", [16]))])));
  const plan = await backend.compile(program);
  for (let i = 0; i < times; i++) expect([...(await plan.run({ x: new Float32Array(16).fill(1) }).y!.data())]).toEqual([16]);
  plan.dispose();
}

await describeOpened("a guarded backend", openBackend(), ({ backend }) => {
  test("finds writes after the end of an output", async () => {
    const checked = async (op: CustomOp, times?: number): Promise<void> => {
      await run(backend, op, times);
      await backend.idle();
    };
    await checked(careless(16));
    await expect(checked(careless(17))).rejects.toThrow("careless17 wrote outside of its output, 0 bytes behind its end");
    await expect(checked(careless(17), 4)).rejects.toThrow(/^(careless17 wrote [^;]*(; )?){4}$/);
    await expect(checked(careless(32))).rejects.toThrow("careless32 wrote outside of its output");
    await checked(careless(16));
    await backend.dispose();
  });

  test("reports such writes when it is disposed of, if not before", async () => {
    const other = await openBackend();
    await run(other.backend, careless(17));
    await expect(other.backend.dispose()).rejects.toThrow("careless17 wrote outside of its output");
    await expect(run(other.backend, careless(16))).rejects.toThrow(DisposedError);
  });
});

await describeOpened("a guarded device", openGuardedDevice(), ({ device }) => {
  afterAll(() => device.destroy());

  test("finds writes after the end of an output", async () => {
    const written = (elements: number): Promise<unknown> => {
      const dispatch = defineDispatch({
        bindings: [output("y")],
        uniforms: {},
        lanes: 32,
        declarations: [],
        body: `if (lane < ${elements}u) { y[lane] = 1.0; }`,
        sizeIn: () => ({ groups: 1, values: {} }),
      });
      return runDispatches(device, [{ dispatch, buffers: { y: "y" } }], { y: 64 }, ["y"]);
    };
    await written(16);
    await expect(written(17)).rejects.toThrow("the dispatch with y wrote outside of its output");
  });
});
