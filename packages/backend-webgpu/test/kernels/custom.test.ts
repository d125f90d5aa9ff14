import { uniform } from "@centella/conformance";
import { type CustomOp, createProgram, KernelError, reference } from "@centella/core";
import { expect, test } from "vitest";
import { describeOpened } from "../support/describeOpened.ts";
import { openBackend } from "../support/openBackend.ts";

/** The sum of each row of `x`, weighted by `w`: a workgroup a row, through workgroup memory. */
const weightedSum: CustomOp<{ readonly by: number }> = {
  name: "weightedSum",
  inputs: ["x", "w"],
  defaults: { by: 1 },
  infer: ([x]) => ({ dtype: "f32", shape: x!.shape.slice(0, -1) }),
  reference([x, w], { by }, y) {
    const n = w!.data.length;
    y.data.forEach((_, row) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += w!.data[i]! * x!.data[row * n + i]!;
      y.data[row] = by * sum;
    });
  },
  wgsl: {
    lanes: 8,
    uniforms: { n: "u32", by: "f32" },
    declarations: "var<workgroup> parts: array<f32, 8>;",
    body: `
      var sum = 0.0;
      for (var i = lane; i < p.n; i += 8u) { sum += load_w(i) * x[group * p.n + i]; }
      parts[lane] = sum;
      workgroupBarrier();
      if (lane == 0u) {
        for (var i = 1u; i < 8u; i++) { sum += parts[i]; }
        y[group] = p.by * sum;
      }
    `,
    dispatch: ({ inputs: [, w], params: { by }, output }) => ({ groups: output.shape[0]!, values: { n: w!.shape[0]!, by } }),
  },
};

function recorded(op: typeof weightedSum) {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 5), 20]);
  const w = program.constant(
    new Uint16Array(20).map((_, i) => 0x3c00 + 16 * i),
    "f16",
    [20],
  );
  program.output("y", program.relu(program.custom(op, [program.scale(x, { by: 2 }), w], { by: -0.5 })));
  return program;
}

await describeOpened("an op of the user's own", openBackend(), ({ backend }) => {
  test("runs its own WGSL", async () => {
    try {
      const plan = await backend.compile(recorded(weightedSum));
      const scalar = await (await reference().open()).compile(recorded(weightedSum));
      for (const rows of [5, 0, 1, 4]) {
        const inputs = { x: uniform(rows, 20 * rows) };
        const got = await plan.run(inputs).y!.data();
        const want = scalar.runSync!(inputs).y!;
        expect(got.length).toBe(rows);
        got.forEach((value, i) => {
          expect(value).toBeCloseTo(want[i]!, 5);
        });
      }
      const { wgsl: _, ...without } = weightedSum;
      await expect(backend.compile(recorded(without))).rejects.toThrow(/weightedSum came without a kernel for webgpu/);
      const broken = { ...weightedSum, wgsl: { ...weightedSum.wgsl!, body: "nonsense;" } };
      await expect(backend.compile(recorded(broken))).rejects.toThrow(KernelError);
      const program = createProgram();
      program.output("y", program.custom(weightedSum, [program.input("x", "bool", [1, 4]), program.input("w", "f32", [4])]));
      await expect(backend.compile(program)).rejects.toThrow(/custom kernels do not read bool here/);
    } finally {
      await backend.dispose();
    }
  });
});
