import { webgpu } from "@centella/backend-webgpu";
import { createProgram, type Program, type Tensor, type Value } from "@centella/core";
import { named, tupleOf } from "@centella/quant/checks";
import { sourceOf } from "../tasks/ours.ts";
import type { PageProject } from "./pageProject.ts";
import { type BrowserTask, chainOps } from "./tasks.ts";

/** This project. */
export async function openCentella(): Promise<PageProject> {
  const backend = await webgpu().open();
  return {
    name: "Centella",
    async prepare(task, operands) {
      const program = createProgram();
      const values = operands.map(({ shape }, i) => program.persistent(`x${i}`, { dtype: "f32", shape }));
      program.output("y", record(program, task, values), { to: "device" });
      const plan = await backend.compile(program);
      for (const [i, { data }] of operands.entries()) await plan.load(`x${i}`, sourceOf(new Uint8Array(data.buffer)));
      let last: Tensor | undefined;
      return {
        run() {
          last?.dispose();
          last = named(plan.run({}), "y");
        },
        settle: () => backend.idle(),
        result: async () => (await last!.data()) as Float32Array,
        dispose() {
          last?.dispose();
          plan.dispose();
        },
      };
    },
  };
}

function record(program: Program, { kind }: BrowserTask, values: readonly Value[]): Value {
  switch (kind) {
    case "matmul":
      return program.matmul(...tupleOf(values, 2));
    case "softmax":
      return program.softmax(...tupleOf(values, 1));
    case "conv2d":
      return program.conv2d(...tupleOf(values, 2), { padding: [1, 1] });
    case "chain": {
      const [x, y, z] = tupleOf(values, 3);
      let value = x;
      for (let step = 0; step < chainOps; step++) value = step % 2 === 0 ? program.add(value, y) : program.mul(value, z);
      return value;
    }
  }
}
