import { halfToFloat } from "@centella/quant";
import { elementAt, named } from "@centella/quant/checks";
import { Skip, type Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import type { Competitor } from "../tasks/competitor.ts";
import {
  blocksOf,
  callsOf,
  inputsOf,
  type OpTask,
  operandShapes,
  outputShape,
  type QuantMatmulTask,
  sizeOf,
  type Task,
} from "../tasks/task.ts";
import { type Initializer, type OnnxGraph, type OnnxNode, onnxModel } from "./onnxModel.ts";

/** Part of ONNX Runtime's JavaScript API that both of its packages have. */
export interface OnnxRuntime {
  readonly Tensor: new (type: "float32", data: Float32Array, shape: readonly number[]) => OnnxTensor;
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<OnnxSession> };
}

interface OnnxTensor {
  readonly data: Float32Array;
}

interface OnnxSession {
  run(feeds: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
  release(): Promise<void>;
}

/**
 * ONNX Runtime as a competitor: one session per task, with weights as initializers so that it can prepack them. Its API takes inputs from
 * JavaScript memory and returns results there in each call, which is part of its times.
 */
export function onnxCompetitor(name: string, threads: number, runtime: OnnxRuntime, sessionOptions: object): Competitor {
  return { name, side: "peer", threads, prepare: (task, sets) => prepare(runtime, sessionOptions, task, sets) };
}

async function prepare(runtime: OnnxRuntime, options: object, task: Task, sets: number): Promise<Subject> {
  const prepared: { session: OnnxSession; feeds: Record<string, OnnxTensor> }[] = [];
  for (let set = 0; set < sets; set++) {
    const inputs = inputsOf(task, set);
    const graph = graphOf(task, set, inputs);
    const hasWeights = graph.initializers.length > 0;
    const session =
      prepared[0] !== undefined && !hasWeights ? prepared[0].session : await runtime.InferenceSession.create(onnxModel(graph), options);
    const feeds = Object.fromEntries(
      Object.entries(graph.inputs).map(([input, shape], i) => [input, new runtime.Tensor("float32", elementAt(inputs, i), shape)]),
    );
    prepared.push({ session, feeds });
  }
  const call = async (set: number): Promise<Float32Array> => {
    const { session, feeds } = elementAt(prepared, set % sets);
    return named(await session.run(feeds), "y").data;
  };
  return {
    sample: timed(call),
    result: () => call(0),
    async dispose() {
      for (const session of new Set(prepared.map((set) => set.session))) await session.release();
    },
  };
}

/** The task as a graph; inputs are named in the order of its operands. */
function graphOf(task: Task, set: number, tensors: readonly Float32Array<ArrayBuffer>[]): OnnxGraph {
  const shapes = operandShapes(task);
  const names = shapes.map((_, i) => ["x", "b", "c"][i] ?? `x${i}`);
  const weights = task.kind === "matmul" && task.hasWeights ? [f32("b", elementAt(shapes, 1), elementAt(tensors, 1))] : [];
  const inputs = Object.fromEntries(
    names.filter((name) => !weights.some((weight) => weight.name === name)).map((name, i) => [name, elementAt(shapes, i)]),
  );
  const graph = (nodes: readonly OnnxNode[], initializers: readonly Initializer[] = weights): OnnxGraph => ({
    inputs,
    outputs: { y: outputShape(task) },
    initializers,
    nodes,
  });
  switch (task.kind) {
    case "matmul":
      return graph([{ op: "MatMul", inputs: ["x", "b"], output: "y" }]);
    case "quantMatmul":
      return graph([quantNode(task)], quantWeights(task, blocksOf(task, set)));
    case "chain":
      return graph(
        Array.from({ length: task.length }, (_, i): OnnxNode => {
          const from = i === 0 ? "x" : `t${i}`;
          const output = i === task.length - 1 ? "y" : `t${i + 1}`;
          return i % 2 === 0 ? { op: "Add", inputs: [from, "b"], output } : { op: "Mul", inputs: [from, "c"], output };
        }),
      );
    case "op":
      // ONNX has no inner product. It multiplies a row by a column, which costs nothing more.
      if (task.op === "dot") return { ...graph(opNodes("dot", ["x", "b"], "y", 1)), ...rowAndColumn(["x", "b"], sizeOf(task.shape)) };
      return graph(opNodes(task.op, names, "y", task.shape.length));
    case "series": {
      const calls = callsOf(task, names);
      const nodes = calls.flatMap((own, i) => [
        ...opNodes(task.op, own, i === 0 ? "s0" : `t${i}`, 1),
        ...(i === 0 ? [] : [{ op: "Add", inputs: [`s${i - 1}`, `t${i}`], output: i === calls.length - 1 ? "y" : `s${i}` }]),
      ]);
      return task.op === "dot" ? { ...graph(nodes), ...rowAndColumn(names, task.n) } : graph(nodes);
    }
  }
}

function rowAndColumn(names: readonly string[], n: number): Pick<OnnxGraph, "inputs" | "outputs"> {
  return { inputs: Object.fromEntries(names.map((name, i) => [name, i % 2 === 0 ? [1, n] : [n, 1]])), outputs: { y: [1, 1] } };
}

/** The node of an op on tensors of rank `rank`. */
function opNodes(op: OpTask["op"], inputs: readonly string[], output: string, rank: number): readonly OnnxNode[] {
  const names = {
    add: "Add",
    mul: "Mul",
    relu: "Relu",
    sigmoid: "Sigmoid",
    max: "ReduceMax",
    min: "ReduceMin",
    sum: "ReduceSum",
    gelu: "Gelu",
    softmax: "Softmax",
    layerNorm: "LayerNormalization",
    dot: "MatMul",
  } as const;
  const attributes = {
    ...((op === "max" || op === "min" || op === "sum") && { keepdims: 0 }),
    ...(op === "gelu" && { approximate: "tanh" }),
    // The default epsilon of LayerNormalization, 1e-5, is the task's.
    ...((op === "softmax" || op === "layerNorm") && { axis: rank - 1 }),
  };
  return [{ op: names[op], inputs, output, attributes }];
}

/** Only q4_0 has a counterpart: blocks of 32 with one scale and the zero at 8. */
function quantNode({ type, k, n }: QuantMatmulTask): OnnxNode {
  if (type !== "q4_0") throw new Skip(`has no matmul with weights like ${type}`);
  return {
    op: "MatMulNBits",
    domain: "com.microsoft",
    inputs: ["x", "b", "scales"],
    output: "y",
    // Level 4 rounds activations to 8 bits, as ggml does.
    attributes: { K: k, N: n, bits: 4, block_size: 32, accuracy_level: 4 },
  };
}

/** The same weights in its layout: nibbles in order, low one first, and f32 scales. */
function quantWeights({ n, k }: QuantMatmulTask, blocks: Uint8Array): readonly Initializer[] {
  const count = (n * k) / 32;
  const packed = new Uint8Array(count * 16);
  const scales = new Float32Array(count);
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.byteLength);
  for (let block = 0; block < count; block++) {
    const at = block * 18;
    scales[block] = halfToFloat(view.getUint16(at, true));
    for (let j = 0; j < 8; j++) {
      const [even, odd] = [blocks[at + 2 + 2 * j]!, blocks[at + 3 + 2 * j]!];
      packed[block * 16 + j] = (even & 15) | ((odd & 15) << 4);
      packed[block * 16 + 8 + j] = (even >> 4) | (odd & 0xf0);
    }
  }
  return [{ name: "b", type: "u8", shape: [n, k / 32, 16], data: packed }, f32("scales", [count], scales)];
}

function f32(name: string, shape: readonly number[], data: Float32Array): Initializer {
  return { name, type: "f32", shape, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}
