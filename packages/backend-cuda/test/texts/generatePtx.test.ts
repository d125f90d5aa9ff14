import { createProgram } from "@centella/core";
import { expect, test } from "vitest";
import { generatePtx } from "../../src/generatePtx.ts";

test("a program's kernels are told without a device, in the order of their launches", () => {
  const program = createProgram();
  const T = program.dim("T", 8);
  const x = program.input("x", "f32", [T, 64]);
  const h = program.softmax(program.matmul(x, program.persistent("w", { dtype: "f32", shape: [64, 32] })));
  program.output("y", program.relu(h));
  const kernels = generatePtx(program);
  expect(kernels.map(({ op }) => op)[0]).toBe("matmul");
  expect(kernels.length).toBeGreaterThanOrEqual(2);
  for (const { entry, ptx } of kernels) {
    expect(ptx).toMatch(/^\.version \d/m);
    expect(ptx).toContain(`.entry ${entry}`);
  }
  expect(generatePtx(program)).toEqual(kernels);
});
