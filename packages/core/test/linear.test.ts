import { expect, test } from "vitest";
import { planArena, planSlots } from "../src/compiler/arena.ts";
import { explain } from "../src/compiler/explain.ts";
import { lower, type Unsupported } from "../src/compiler/lower.ts";
import type { FusedParams } from "../src/compiler/passes/fused.ts";
import { createProgram, type Program } from "../src/index.ts";
import type { Node, ProgramGraph } from "../src/program/programGraph.ts";

/** Accepts groups of elementwise calls only, as most backends do. */
const elementwise: Unsupported = (_op, _inputs, params) =>
  "body" in params && (params as FusedParams).body.some(({ op }) => op.elementwise !== true) ? "elementwise calls alone" : undefined;

const programs: Readonly<Record<string, (ops: number) => Program>> = {
  "a chain with products, repeated calls and scalars": (ops) => {
    const program = createProgram();
    const w = program.persistent("w", { dtype: "f32", shape: [8, 8] });
    const first = program.input("x", "f32", [8, 8]);
    let x = first;
    while (program.nodes.length < ops) {
      x = program.matmul(program.add(program.scale(program.mul(x, program.constant(Float32Array.of(2), "f32", [])), { by: 3 }), first), w);
      program.tanh(first);
    }
    program.output("y", x);
    return program;
  },
  "many versions of one persistent": (ops) => {
    const program = createProgram();
    let state = program.persistent("state", { dtype: "f32", shape: [4] }, { init: "zeros" });
    const x = program.input("x", "f32", [4]);
    while (program.nodes.length < ops) state = program.assign(state, program.add(program.reshape(state, { shape: [4] }), x));
    program.output("y", state);
    return program;
  },
  "a long residual": (ops) => {
    const program = createProgram();
    const first = program.softmax(program.input("x", "f32", [8, 8]));
    let x = first;
    while (program.nodes.length < ops) x = program.softmax(program.relu(program.softmax(x)));
    program.output("y", program.matmul(x, first));
    return program;
  },
  "one group of everything": (ops) => {
    const program = createProgram();
    let x = program.input("x", "f32", [8, 8]);
    while (program.nodes.length < ops) x = program.relu(program.add(x, x));
    program.output("y", x);
    return program;
  },
};

/** Number of times that the passes and the memory plan read a call or a lifetime. */
function looks(program: ProgramGraph): number {
  let count = 0;
  const nodes = program.nodes.map(
    (node): Node =>
      Object.defineProperty({ ...node }, "inputs", {
        enumerable: true,
        get() {
          count++;
          return node.inputs;
        },
      }) as Node,
  );
  const { dims, values, inputs, persistents, outputs } = program;
  const lowered = lower({ dims, values, nodes, inputs, persistents, outputs }, "toy", elementwise, { memoryModel: "addressSpace" });
  const temporaries = lowered.storages
    .filter(({ definition }) => definition.kind === "node")
    .map(
      (storage) =>
        Object.defineProperty({ ...storage }, "bytes", {
          get() {
            count++;
            return storage.bytes;
          },
        }) as typeof storage,
    );
  planArena(temporaries, 64);
  planSlots(temporaries);
  return count;
}

test.each(Object.entries(programs))("passes over %s are linear in the number of ops", (_name, record) => {
  const [small, large] = [looks(record(500)), looks(record(4000))];
  expect(small).toBeGreaterThan(500);
  // Sorting by size adds a logarithm: 1.33 times as many reads per op for 8 times as many ops.
  expect(large / small).toBeLessThan(8 * 1.5);
});

test("a program of ten thousand ops is explained", () => {
  const [head] = explain(programs["many versions of one persistent"]!(10_000)).split("\n");
  expect(head).toBe("6668 steps on any backend, from 10002 recorded ops");
});
