import {
  type Backend,
  createProgram,
  type Plan,
  type Program,
  type Tensor,
  type TensorSource,
  type TypedArray,
  type Value,
} from "@centella/core";
import { elementAt, named, tupleOf } from "@centella/quant/checks";

import { Skip, type Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import type { Competitor } from "./competitor.ts";
import { blocksOf, callsOf, inputsOf, layerNormEps, type OpTask, operandShapes, type Task } from "./task.ts";
import { workOf } from "./work.ts";

/** Work above which the scalar reference and software GPUs are left out, because they would take minutes. */
const slowLimit = { flops: 2 * 256 ** 3, bytes: 2 ** 25 };

/** A backend of this project: inputs live on it, weights are persistents, results stay there. */
export function ours(backend: Backend, threads: number | undefined): Competitor {
  return { name: backend.name, side: "ours", threads, prepare: (task, sets) => prepare(backend, task, sets) };
}

/** The same backend with inputs from JavaScript memory and results returned there in each call, as for single op calls. */
export function oursFromHost(backend: Backend, threads: number | undefined): Competitor {
  return { name: backend.name, side: "ours", threads, prepare: (task) => prepareFromHost(backend, task) };
}

async function prepareFromHost(backend: Backend, task: Task): Promise<Subject> {
  refuseSlow(backend, task, 1);
  const tensors = inputsOf(task, 0);
  const plan = await backend.compile(record(task, "host"));
  const inputs = Object.fromEntries([...plan.program.inputs.keys()].map((name, i) => [name, elementAt(tensors, i)]));
  const call = (): Promise<TypedArray> => named(plan.run(inputs), "y").data();
  return { sample: timed(call), result: async () => (await call()) as Float32Array, dispose: () => plan.dispose() };
}

/** @throws {Skip} */
function refuseSlow(backend: Backend, task: Task, sets: number): void {
  const { flops = 0, bytes = 0 } = workOf(task);
  const isSlow = backend.name === "reference" || backend.device.kind === "software-gpu";
  if (isSlow && (flops > slowLimit.flops || bytes * sets > slowLimit.bytes)) throw new Skip(`${backend.device.name} would take minutes`);
}

/** One buffer set, ready to run. */
interface PreparedSet {
  readonly plan: Plan;
  readonly inputs: Readonly<Record<string, Tensor>>;
}

async function prepare(backend: Backend, task: Task, sets: number): Promise<Subject> {
  refuseSlow(backend, task, sets);
  const prepared: PreparedSet[] = [];
  for (let set = 0; set < sets; set++) prepared.push(await prepareSet(backend, task, set, prepared[0]?.plan));
  const run = (set: number): Tensor => {
    const { plan, inputs } = elementAt(prepared, set % sets);
    return named(plan.run(inputs), "y");
  };
  // A GPU receives all calls of a sample before the wait. On a CPU a call ends when its result is there.
  const sample =
    backend.device.kind === "cpu"
      ? timed(async (set) => {
          const y = run(set);
          await y.ready();
          y.dispose();
        })
      : timed((set) => run(set).dispose(), { settle: () => backend.idle() });
  return {
    sample,
    async result() {
      const y = run(0);
      try {
        return await y.data();
      } finally {
        y.dispose();
      }
    },
    dispose() {
      for (const { plan, inputs } of prepared) {
        for (const tensor of Object.values(inputs)) tensor.dispose();
        plan.dispose();
      }
    },
  };
}

async function prepareSet(backend: Backend, task: Task, set: number, first: Plan | undefined): Promise<PreparedSet> {
  const tensors = inputsOf(task, set);
  const hasWeights = task.kind === "quantMatmul" || (task.kind === "matmul" && task.hasWeights);
  // Without weights of their own, buffer sets are only different inputs of one plan.
  const plan = hasWeights || first === undefined ? await backend.compile(record(task)) : first;
  if (task.kind === "quantMatmul") await plan.load("b", sourceOf(blocksOf(task, set)));
  else if (hasWeights) await plan.load("b", sourceOf(new Uint8Array(elementAt(tensors, 1).buffer)));
  const shapes = operandShapes(task);
  const inputs = Object.fromEntries(
    [...plan.program.inputs.keys()].map((name, i) => [
      name,
      backend.upload({ dtype: "f32", shape: elementAt(shapes, i) }, elementAt(tensors, i)),
    ]),
  );
  return { plan, inputs };
}

/** The task as a program: inputs in the order of its operands, `b` the weights, `y` the result. */
export function record(task: Task, to: "host" | "device" = "device"): Program {
  const program = createProgram();
  const inputs = operandShapes(task).slice(0, task.kind === "matmul" && task.hasWeights ? 1 : undefined);
  const operands = inputs.map((shape, i) => program.input(`x${i}`, "f32", shape));
  program.output("y", call(program, task, operands), { to });
  return program;
}

function call(program: Program, task: Task, operands: readonly Value[]): Value {
  switch (task.kind) {
    case "matmul":
      return program.matmul(elementAt(operands, 0), operands[1] ?? program.persistent("b", { dtype: "f32", shape: [task.k, task.n] }));
    case "quantMatmul": {
      const { type, k, n } = task;
      return program.matmul(elementAt(operands, 0), program.persistent("b", { dtype: type, shape: [n, k] }), {
        transposeB: true,
        activations: "ggml",
      });
    }
    case "op":
      return callOp(program, task.op, operands);
    case "chain": {
      const [x, a, b] = tupleOf(operands, 3);
      let y = x;
      for (let step = 0; step < task.length / 2; step++) y = program.mul(program.add(y, a), b);
      return y;
    }
    case "series":
      return callsOf(task, operands)
        .map((own) => callOp(program, task.op, own))
        .reduce((sum, y) => program.add(sum, y));
  }
}

function callOp(program: Program, op: OpTask["op"], operands: readonly Value[]): Value {
  switch (op) {
    case "add":
    case "mul":
    case "dot":
      return program[op](...tupleOf(operands, 2));
    case "layerNorm": {
      const [x, w, bias] = tupleOf(operands, 3);
      return program.layerNorm(x, w, { bias, eps: layerNormEps });
    }
    default:
      return program[op](...tupleOf(operands, 1));
  }
}

/** Bytes in memory as a source of weights. */
export function sourceOf(bytes: Uint8Array): TensorSource {
  return { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}
