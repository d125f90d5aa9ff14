import { elementAt, tupleOf } from "@centella/quant/checks";
import type { PageProject } from "./pageProject.ts";
import { type BrowserTask, chainOps, type PageOperand } from "./tasks.ts";

interface TfTensor {
  data(): Promise<Float32Array>;
  dispose(): void;
}

/** Its WebGPU backend. It submits what it recorded after some dispatches, or when results are read. */
interface TfBackend {
  readonly device: GPUDevice;
  readonly commandEncoder: GPUCommandEncoder | null;
  endComputePassEncoder(): void;
  submitQueue(): void;
}

interface Tf {
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  backend(): TfBackend;
  tensor(values: Float32Array, shape: readonly number[]): TfTensor;
  tidy<T>(work: () => T): T;
  transpose(x: TfTensor, axes: readonly number[]): TfTensor;
  matMul(a: TfTensor, b: TfTensor): TfTensor;
  softmax(x: TfTensor): TfTensor;
  add(a: TfTensor, b: TfTensor): TfTensor;
  mul(a: TfTensor, b: TfTensor): TfTensor;
  conv2d(x: TfTensor, w: TfTensor, strides: number, padding: "same"): TfTensor;
}

/** TensorFlow.js from its module. Its images are N, H, W, C. */
export async function openTfjs(module: object): Promise<PageProject> {
  const tf = module as Tf;
  if (!(await tf.setBackend("webgpu"))) throw new Error("its WebGPU backend did not start");
  await tf.ready();
  const backend = tf.backend();
  return {
    name: "tfjs-backend-webgpu",
    async prepare(task, operands) {
      const tensors = operands.map((operand, i) => tensorOf(tf, task, operand, i));
      let last: TfTensor | undefined;
      return {
        run() {
          last?.dispose();
          last = tf.tidy(() => compute(tf, task, tensors));
        },
        settle() {
          if (backend.commandEncoder !== null) {
            backend.endComputePassEncoder();
            backend.submitQueue();
          }
          return backend.device.queue.onSubmittedWorkDone();
        },
        result: () => (task.kind === "conv2d" ? tf.transpose(last!, [0, 3, 1, 2]) : last!).data(),
        dispose() {
          for (const tensor of tensors) tensor.dispose();
          last?.dispose();
        },
      };
    },
  };
}

function tensorOf(tf: Tf, { kind }: BrowserTask, { data, shape }: PageOperand, index: number): TfTensor {
  const tensor = tf.tensor(data, shape);
  if (kind !== "conv2d") return tensor;
  return tf.transpose(tensor, index === 0 ? [0, 2, 3, 1] : [2, 3, 1, 0]);
}

function compute(tf: Tf, { kind }: BrowserTask, tensors: readonly TfTensor[]): TfTensor {
  switch (kind) {
    case "matmul":
      return tf.matMul(...tupleOf(tensors, 2));
    case "softmax":
      return tf.softmax(elementAt(tensors, 0));
    case "conv2d": {
      const [x, w] = tupleOf(tensors, 2);
      return tf.conv2d(x, w, 1, "same");
    }
    case "chain": {
      const [x, y, z] = tupleOf(tensors, 3);
      let value = x;
      for (let step = 0; step < chainOps; step++) value = step % 2 === 0 ? tf.add(value, y) : tf.mul(value, z);
      return value;
    }
  }
}
