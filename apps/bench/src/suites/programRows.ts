import { webgpu } from "@centella/backend-webgpu";
import { type Backend, createProgram, type Program } from "@centella/core";
import { type FusedParams, lower, type Unsupported } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { idleGpu } from "../gpu/idleGpu.ts";
import type { Contestant, Row } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import type { SuiteContext } from "./suite.ts";

/** Costs of core's passes, and of replaying calls with almost no work. */
export function programRows(backends: readonly Backend[], kind: SuiteContext["kind"]): readonly Row[] {
  return [passesRow(1000), passesRow(4000), replayRow(backends, kind, 1000)];
}

/** A chain of products with repeated calls, scalars to fold and groups to fuse. */
function chain(ops: number): Program {
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
}

/** Accepts groups of elementwise calls only, as backends without epilogues do. */
const elementwise: Unsupported = (_op, _inputs, params) =>
  "body" in params && (params as FusedParams).body.some(({ op }) => op.elementwise !== true) ? "elementwise calls alone" : undefined;

/** All passes and the lifetimes of the memory plan, without kernels. They are linear: 4,000 ops take the same time per op as 1,000. */
function passesRow(ops: number): Row {
  const program = chain(ops);
  const contestant: Contestant = {
    name: "core",
    side: "ours",
    threads: 1,
    prepare: async () => ({
      sample: timed(async () => void lower(program, "none", elementwise, { memoryModel: "addressSpace" })),
      result: async () => undefined,
      dispose: () => undefined,
    }),
  };
  return rowOf(`passes over ${ops} ops`, ops, [contestant]);
}

/** A chain of calls that do not fuse, on one element. */
export function softmaxes(ops: number): Program {
  const program = createProgram();
  let x = program.input("x", "f32", [1, 1]);
  for (let i = 0; i < ops; i++) x = program.softmax(x);
  program.output("y", x);
  return program;
}

/** Calls with almost no work: nearly all of the time is the plan's overhead. On WebGPU without a device, it is the processor's part of that. */
function replayRow(backends: readonly Backend[], kind: SuiteContext["kind"], ops: number): Row {
  const program = softmaxes(ops);
  const contestants = backends.map((backend) => replayOn(backend.name, program, async () => ({ backend, dispose: async () => undefined })));
  const idle = replayOn("webgpu without a device", program, async () => {
    const backend = await webgpu({ gpu: idleGpu() }).open();
    return { backend, dispose: () => backend.dispose() };
  });
  return rowOf(`replay ${ops} ops, not fused`, ops, kind === "cpu" ? [...contestants, idle] : contestants);
}

function replayOn(
  name: string,
  program: Program,
  open: () => Promise<{ readonly backend: Backend; dispose(): Promise<void> }>,
): Contestant {
  return {
    name,
    side: "ours",
    threads: 1,
    async prepare() {
      const { backend, dispose } = await open();
      const plan = await backend.compile(program);
      const inputs = { x: Float32Array.of(1) };
      const run = async (): Promise<void> => {
        const y = named(plan.run(inputs), "y");
        await y.data();
        y.dispose();
      };
      const end = async (): Promise<void> => {
        plan.dispose();
        await dispose();
      };
      return { sample: timed(run), result: async () => undefined, dispose: end };
    },
  };
}

function rowOf(id: string, ops: number, contestants: readonly Contestant[]): Row {
  return { id, metric: "µs/op", bound: "none", work: { ops }, data: "-", isLarge: false, contestants, verify: () => undefined };
}
