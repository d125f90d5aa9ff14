import { generatePtx } from "@centella/backend-cuda/ptx";
import { type Backend, createProgram, type Program } from "@centella/core";
import { elementAt, named } from "@centella/quant/checks";

import { scalar } from "../peers/scalar.ts";
import type { Contestant, Row, Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import { uniform } from "../stats/random.ts";
import type { Competitor } from "../tasks/competitor.ts";
import { oursFromHost } from "../tasks/ours.ts";
import type { OpTask, Task } from "../tasks/task.ts";
import { taskRow } from "../tasks/work.ts";
import type { Suite, SuiteContext } from "./suite.ts";
import { tiledGemmPtx } from "./tiledGemm.ts";

/**
 * The tables that the predecessor published, measured on this project's backends, with the predecessor's figure next to each row. Its GPU
 * figures are from an RTX 4090 with wgpu 27 (2025-11-23), those of tiled reductions from a Radeon W5700X (2026-01-03). They include the
 * transfers of a call, so rows here take inputs from JavaScript memory and return results there. "scalar" in a note is its plain loop.
 */
export const predecessor: Suite = {
  name: "predecessor",
  summary: "the predecessor's tables, its figures beside ours",
  rows(context) {
    const { kind, quick } = context;
    return [
      ...hostTasks.filter(([, task]) => !quick || sizeOf(task) <= 1e5).map(([note, task]) => fromHost(context, task, note)),
      ...(kind === "cpu" ? simd.map(([op, note]) => inCache(context, op, note)) : []),
      ...(kind === "cpu" ? [...ptxKernels.map(([name, program, note]) => ptxRow(name, program, note)), tiledGemmRow()] : []),
      ...(kind === "gpu" ? [...transferRows(context.backends, quick), ...batchRows(context.backends)] : []),
    ];
  },
};

const thousand = 1000;
const million = 1e6;

/** Name and figure of each row whose inputs come from the host. */
const hostTasks: readonly (readonly [note: string, task: Task])[] = [
  ["GPU 4.14 ms, scalar 0.531 ms", square(100)],
  ["GPU 4.59 ms, scalar 77.4 ms", square(500)],
  ["GPU 7.84 ms, scalar 639 ms", square(1000)],
  ["GPU 3.26 ms, scalar 0.000071 ms", vector("add", thousand)],
  ["GPU 3.44 ms, scalar 0.000819 ms", vector("add", 10 * thousand)],
  ["GPU 3.51 ms, scalar 0.0101 ms", vector("add", 100 * thousand)],
  ["GPU 5.98 ms, scalar 0.0965 ms", vector("add", million)],
  ["GPU 3.45 ms, scalar 0.000567 ms", vector("dot", thousand)],
  ["GPU 3.32 ms, scalar 0.0063 ms", vector("dot", 10 * thousand)],
  ["GPU 4.81 ms, scalar 0.0632 ms", vector("dot", 100 * thousand)],
  ["GPU 6.25 ms, scalar 0.614 ms", vector("dot", million)],
  ["GPU 3.49 ms, scalar 0.00056 ms", vector("relu", 10 * thousand)],
  ["GPU 3.75 ms, scalar 0.00637 ms", vector("relu", 100 * thousand)],
  ["GPU 6.03 ms, scalar 0.0671 ms", vector("relu", million)],
  ["GPU 3.64 ms, scalar 0.021 ms", vector("sigmoid", 10 * thousand)],
  ["GPU 3.75 ms, scalar 0.207 ms", vector("sigmoid", 100 * thousand)],
  ["GPU 5.81 ms, scalar 3.18 ms", vector("sigmoid", million)],
  ["GPU 3.60 ms, scalar 0.101 ms", vector("gelu", 10 * thousand)],
  ["GPU 3.72 ms, scalar 0.327 ms", vector("gelu", 100 * thousand)],
  ["GPU 5.81 ms, scalar 3.19 ms", vector("gelu", million)],
  ["GPU 16.8 ms, scalar 0.0292 ms", vector("softmax", 10 * thousand)],
  ["GPU 16.3 ms, scalar 0.292 ms", vector("softmax", 100 * thousand)],
  ["GPU 22.8 ms, scalar 3.01 ms", vector("softmax", million)],
  ["tiled GPU 8.25 ms, CPU 0.92 ms", vector("sum", million)],
  ["tiled GPU 67.2 ms, CPU 9.46 ms", vector("sum", 10 * million)],
  ["tiled GPU 215 ms, CPU 30.7 ms", vector("sum", 32 * million)],
  ["tiled GPU 8.3 ms, CPU 0.22 ms", vector("max", million)],
  ["tiled GPU 67 ms, CPU 3.25 ms", vector("max", 10 * million)],
  ["tiled GPU 215 ms, CPU 10.7 ms", vector("max", 32 * million)],
  ["tiled GPU 8.3 ms, CPU 0.22 ms", vector("min", million)],
  ["tiled GPU 67 ms, CPU 3.25 ms", vector("min", 10 * million)],
  ["tiled GPU 215 ms, CPU 10.7 ms", vector("min", 32 * million)],
];

/** SIMD over a scalar loop at 10 K elements, without transfers. */
const simd: readonly (readonly [op: OpTask["op"], note: string])[] = [
  ["dot", "SSE2 1.55 µs, 4.03× its scalar loop"],
  ["sum", "SSE2 1.69 µs, 4.2× its scalar loop"],
  ["max", "SSE2 1.06 µs, 3.97× its scalar loop"],
  ["add", "SSE2 1.10 µs, 1.3× its scalar loop"],
  ["mul", "SSE2 1.10 µs, equal to its scalar loop"],
];

const ptxKernels: readonly (readonly [name: string, program: () => Program, note: string])[] = [
  ["matmul 128×128×128", () => matmulProgram("f32"), "naive 9.11 µs, 1.6 KB, 66 lines; tiled 15.0 µs, 2.6 KB, 104 lines"],
  ["softmax 64×1024", softmaxProgram, "1.8 KB, 59 lines"],
  ["layerNorm 64×1024", normProgram, "2.8 KB, 94 lines"],
  ["matmul q4_K 1×256×32", () => matmulProgram("q4_K"), "28.4 µs, 4.3 KB, 158 lines"],
  ["relu → scale → add fused", () => chainProgram("host"), "no fusion"],
];

function square(n: number): Task {
  return { kind: "matmul", m: n, k: n, n, hasWeights: false };
}

function vector(op: OpTask["op"], n: number): Task {
  return { kind: "op", op, shape: [n] };
}

function sizeOf(task: Task): number {
  return task.kind === "matmul" ? task.m * task.n : task.kind === "op" ? elementAt(task.shape, 0) : 0;
}

function nameOf(task: Task): string {
  if (task.kind === "matmul") return `matmul ${task.m}×${task.k}×${task.n}`;
  const { op, shape } = task as OpTask;
  const n = elementAt(shape, 0);
  return `${op} ${n >= million ? `${n / million} M` : `${n / thousand} K`}`;
}

function fromHost({ backends }: SuiteContext, task: Task, note: string): Row {
  const competitors = [...backends.map((backend) => oursFromHost(backend, backend.device.threads)), plainLoops];
  return { ...taskRow(task, competitors, { id: `${nameOf(task)} from host`, metric: "ms", bound: "none" }, undefined), note };
}

function inCache({ competitors }: SuiteContext, op: OpTask["op"], note: string): Row {
  const task = vector(op, 10 * thousand);
  const own = competitors.filter(({ side }) => side === "ours");
  return { ...taskRow(task, [...own, plainLoops], { id: `${nameOf(task)} in place`, metric: "µs", bound: "none" }, undefined), note };
}

/** The pinned baseline, which takes part even without `--peers`. */
const plainLoops: Competitor = {
  name: "scalar",
  side: "peer",
  threads: 1,
  async prepare(task, sets) {
    const { competitor } = await scalar.open({ threads: 1 });
    return competitor!.prepare(task, sets);
  },
};

/** Time to record a program and generate its kernel's text on the CPU. */
function ptxRow(name: string, program: () => Program, note: string): Row {
  return textRow(name, () => generatePtx(program()).map(({ ptx }) => ptx), note);
}

/** Time to write a kernel with the builder alone: the predecessor's own, so that the texts are equally long. */
function tiledGemmRow(): Row {
  const note = "14.7 µs (68,015 texts a second) for the same kernel, which ours has to beat: at most 14.3 µs (70,000)";
  return textRow("a tiled matmul 128×128×128 by the builder", () => [tiledGemmPtx(128, 128, 128).ptx], note);
}

function textRow(name: string, write: () => readonly string[], note: string): Row {
  const texts = write();
  const bytes = texts.reduce((sum, text) => sum + text.length, 0);
  const lines = texts.reduce((sum, text) => sum + text.trimEnd().split("\n").length, 0);
  return {
    ...plainRow(`PTX of ${name}`, "µs"),
    note: `${(bytes / 1000).toFixed(1)} KB, ${lines} lines, ${texts.length} kernel${texts.length === 1 ? "" : "s"}; predecessor: ${note}`,
    contestants: [contestant("cuda", write)],
  };
}

/** Separate costs of moving 4 MiB and of starting a tiny kernel. */
function transferRows(backends: readonly Backend[], quick: boolean): readonly Row[] {
  const elements = quick ? 2 ** 16 : 2 ** 20;
  const data = uniform(1, elements);
  const spec = { dtype: "f32", shape: [elements] } as const;
  const size = `${(4 * elements) / 2 ** 20} MiB`;
  const row = (what: string, note: string, prepare: (backend: Backend) => Promise<Subject>): Row => ({
    ...plainRow(what, "µs"),
    note: `${note} (1 M elements)`,
    contestants: backends.map((backend) => ({ name: backend.name, side: "ours", threads: undefined, prepare: () => prepare(backend) })),
  });
  return [
    row(`upload ${size} into a new buffer`, "0.5 ms creation and 1.5 ms upload", async (backend) => {
      const held: { dispose(): void }[] = [];
      return {
        // Held buffers do not return to the pool, so each call creates a buffer.
        sample: timed(() => held.push(backend.upload(spec, data)), { settle: () => backend.idle() }),
        result: async () => undefined,
        dispose() {
          for (const tensor of held) tensor.dispose();
        },
      };
    }),
    row(`upload ${size} into a used buffer`, "1.5 ms", async (backend) =>
      subject(
        () => backend.upload(spec, data).dispose(),
        () => backend.idle(),
      ),
    ),
    row("dispatch of 16 elements", "0.3 ms", async (backend) => {
      const program = createProgram();
      program.output("y", program.relu(program.input("x", "f32", [16])), { to: "device" });
      const plan = await backend.compile(program);
      const x = backend.upload({ dtype: "f32", shape: [16] }, new Float32Array(16));
      return subject(async () => {
        named(plan.run({ x }), "y").dispose();
        await backend.idle();
      });
    }),
    row(`readback of ${size}`, "1.2 ms", async (backend) => {
      const x = backend.upload(spec, data);
      return subject(() => x.data());
    }),
    row(`readback of ${size} into a used array`, "1.2 ms", async (backend) => {
      const x = backend.upload(spec, data);
      const target = new Float32Array(elements);
      return subject(() => x.readInto(target));
    }),
    row(`two uploads of ${size}, add, readback into a used array`, "5.98 ms", async (backend) => {
      const program = createProgram();
      const sum = program.add(program.input("x", "f32", spec.shape), program.input("z", "f32", spec.shape));
      program.output("y", sum, { to: "device" });
      const plan = await backend.compile(program);
      const target = new Float32Array(elements);
      return subject(async () => {
        using y = named(plan.run({ x: data, z: data }), "y");
        await y.readInto(target);
      });
    }),
  ];
}

/** relu, scale and add as one program, and as three calls with a round trip to the device each; checks the transfers. */
function batchRows(backends: readonly Backend[]): readonly Row[] {
  const n = 10 * thousand;
  const [x, b] = [uniform(1, n), uniform(2, n)];
  const row = (id: string, note: string, trips: number, prepare: (backend: Backend) => Promise<() => Promise<unknown>>): Row => ({
    ...plainRow(id, "µs"),
    note: `${note}; ours: ${trips} submission${trips === 1 ? "" : "s"} and readback${trips === 1 ? "" : "s"}, counted`,
    contestants: backends.map((backend) => ({
      name: backend.name,
      side: "ours",
      threads: undefined,
      prepare: async () => {
        const call = await prepare(backend);
        return {
          ...subject(call),
          async result() {
            const before = { ...backend.counters };
            await call();
            return [backend.counters.submits - before.submits, backend.counters.readbacks - before.readbacks];
          },
        };
      },
    })),
    verify: ({ 0: submits, 1: readbacks }) =>
      submits === trips && readbacks === trips ? undefined : `expected ${trips} submissions and readbacks, got ${submits} and ${readbacks}`,
  });
  return [
    row("relu → scale → add as a batch", "2 transfers, 3.5 ms of overhead", 1, async (backend) => {
      const plan = await backend.compile(chainProgram("host"));
      return () => named(plan.run({ x, b }), "y").data();
    }),
    row("relu → scale → add as single calls", "6 transfers, 10.5 ms of overhead", 3, async (backend) => {
      const plans = await Promise.all(singleOps().map((program) => backend.compile(program)));
      return async () => {
        const y = await named(elementAt(plans, 0).run({ x }), "y").data();
        const z = await named(elementAt(plans, 1).run({ x: y }), "y").data();
        return named(elementAt(plans, 2).run({ x: z, b }), "y").data();
      };
    }),
  ];
}

function chainProgram(to: "host" | "device"): Program {
  const program = createProgram();
  const n = 10 * thousand;
  const scaled = program.scale(program.relu(program.input("x", "f32", [n])), { by: 2 });
  program.output("y", program.add(scaled, program.input("b", "f32", [n])), { to });
  return program;
}

function singleOps(): readonly Program[] {
  const n = 10 * thousand;
  const [first, second, third] = [createProgram(), createProgram(), createProgram()];
  first.output("y", first.relu(first.input("x", "f32", [n])));
  second.output("y", second.scale(second.input("x", "f32", [n]), { by: 2 }));
  third.output("y", third.add(third.input("x", "f32", [n]), third.input("b", "f32", [n])));
  return [first, second, third];
}

function matmulProgram(dtype: "f32" | "q4_K"): Program {
  const program = createProgram();
  const [m, k, n] = dtype === "f32" ? [128, 128, 128] : [1, 256, 32];
  const w = program.persistent("w", { dtype, shape: [n, k] });
  program.output("y", program.matmul(program.input("x", "f32", [m, k]), w, { transposeB: true }));
  return program;
}

function softmaxProgram(): Program {
  const program = createProgram();
  program.output("y", program.softmax(program.input("x", "f32", [64, 1024])));
  return program;
}

function normProgram(): Program {
  const program = createProgram();
  const x = program.input("x", "f32", [64, 1024]);
  program.output("y", program.layerNorm(x, program.input("w", "f32", [1024]), { bias: program.input("b", "f32", [1024]), eps: 1e-5 }));
  return program;
}

function plainRow(id: string, metric: "µs"): Omit<Row, "contestants"> {
  return { id, metric, bound: "none", work: {}, data: "-", isLarge: false, verify: () => undefined };
}

function contestant(name: string, work: () => unknown): Contestant {
  return { name, side: "ours", threads: 1, prepare: async () => subject(work) };
}

function subject(work: () => unknown, settle?: () => Promise<unknown>): Subject {
  return {
    sample: timed(work as () => Promise<unknown> | unknown, settle === undefined ? {} : { settle }),
    result: async () => undefined,
    dispose: () => undefined,
  };
}
