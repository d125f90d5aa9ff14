import { elementAt, tupleOf } from "@centella/quant/checks";
import { Skip, type Subject } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import type { Competitor } from "../tasks/competitor.ts";
import { callsOf, inputsOf, type OpTask, operandShapes, type Task } from "../tasks/task.ts";
import { provideGpu } from "./dawn.ts";
import { loadPeer, peerPackage, peerVersion } from "./load.ts";
import type { PeerAdapter } from "./peer.ts";

interface TfTensor {
  data(): Promise<Float32Array>;
  dispose(): void;
}

interface Tf {
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  removeBackend(name: string): void;
  tensor(values: Float32Array, shape: readonly number[]): TfTensor;
  tidy<T>(work: () => T): T;
  matMul(a: TfTensor, b: TfTensor): TfTensor;
  add(a: TfTensor, b: TfTensor): TfTensor;
  mul(a: TfTensor, b: TfTensor): TfTensor;
  softmax(x: TfTensor): TfTensor;
  relu(x: TfTensor): TfTensor;
  sigmoid(x: TfTensor): TfTensor;
  sum(x: TfTensor): TfTensor;
  max(x: TfTensor): TfTensor;
  min(x: TfTensor): TfTensor;
  dot(a: TfTensor, b: TfTensor): TfTensor;
}

/** TensorFlow.js on XNNPACK in WASM. It switches threads off in Node. */
export const tfjsWasm: PeerAdapter = {
  name: "tfjs-backend-wasm",
  kind: "cpu",
  async open() {
    peerPackage("@tensorflow/tfjs-backend-wasm");
    const tf = await start("@tensorflow/tfjs-backend-wasm", "wasm");
    return {
      version: peerVersion("@tensorflow/tfjs-backend-wasm"),
      competitor: competitorOf("tfjs-backend-wasm", 1, tf, undefined),
      dispose: () => tf.removeBackend("wasm"),
    };
  },
};

/** TensorFlow.js on WebGPU, which the package `webgpu` provides in Node. */
export const tfjsWebgpu: PeerAdapter = {
  name: "tfjs-backend-webgpu",
  kind: "gpu",
  async open() {
    peerPackage("@tensorflow/tfjs-backend-webgpu");
    const entry = await provideGpu();
    const adapter = await navigator.gpu.requestAdapter();
    if (adapter === null) throw new Skip("no WebGPU adapter");
    if (/swiftshader|llvmpipe/i.test(`${adapter.info.device} ${adapter.info.description}`))
      throw new Skip("the only adapter is a software one");
    const tf = await start("@tensorflow/tfjs-backend-webgpu", "webgpu");
    return {
      version: peerVersion("@tensorflow/tfjs-backend-webgpu"),
      competitor: competitorOf("tfjs-backend-webgpu", undefined, tf, (y) => y.data()),
      dispose() {
        tf.removeBackend("webgpu");
        entry[Symbol.dispose]();
      },
    };
  },
};

async function start(backend: string, name: string): Promise<Tf> {
  const { default: tf } = (await loadPeer("@tensorflow/tfjs-core")) as { readonly default: Tf };
  await loadPeer(backend);
  if (!(await tf.setBackend(name))) throw new Skip(`its ${name} backend did not start`);
  await tf.ready();
  return tf;
}

/** `settle` waits for the last result of a sample; the WASM backend computes before it returns. */
function competitorOf(
  name: string,
  threads: number | undefined,
  tf: Tf,
  settle: ((y: TfTensor) => Promise<unknown>) | undefined,
): Competitor {
  return {
    name,
    side: "peer",
    threads,
    async prepare(task, sets): Promise<Subject> {
      const shapes = operandShapes(task);
      const compute = computeOf(tf, task);
      const operands = Array.from({ length: sets }, (_, set) =>
        inputsOf(task, set).map((values, i) => tf.tensor(values, elementAt(shapes, i))),
      );
      let last: TfTensor | undefined;
      const call = (set: number): TfTensor => {
        last?.dispose();
        last = tf.tidy(() => compute(elementAt(operands, set % sets)));
        return last;
      };
      return {
        sample: timed(call, settle === undefined ? {} : { settle: async () => last && settle(last) }),
        result: async () => call(0).data(),
        dispose() {
          last?.dispose();
          for (const tensor of operands.flat()) tensor.dispose();
        },
      };
    },
  };
}

function computeOf(tf: Tf, task: Task): (operands: readonly TfTensor[]) => TfTensor {
  switch (task.kind) {
    case "matmul":
      return (operands) => tf.matMul(...tupleOf(operands, 2));
    case "quantMatmul":
      throw new Skip("has no quantised weights");
    case "chain":
      return (operands) => {
        const [x, a, b] = tupleOf(operands, 3);
        let y = x;
        for (let step = 0; step < task.length / 2; step++) y = tf.mul(tf.add(y, a), b);
        return y;
      };
    case "op":
      return opOf(tf, task.op);
    case "series": {
      const call = opOf(tf, task.op);
      return (operands) =>
        callsOf(task, operands)
          .map(call)
          .reduce((sum, y) => tf.add(sum, y));
    }
  }
}

function opOf(tf: Tf, op: OpTask["op"]): (operands: readonly TfTensor[]) => TfTensor {
  switch (op) {
    case "add":
    case "mul":
    case "dot":
      return (operands) => tf[op](...tupleOf(operands, 2));
    case "gelu":
    case "layerNorm":
      throw new Skip(`has no ${op}`);
    default:
      return (operands) => tf[op](...tupleOf(operands, 1));
  }
}
