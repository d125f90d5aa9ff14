import { named } from "@centella/quant/checks";
import { type OnnxNode, onnxModel } from "../peers/onnxModel.ts";
import type { PageProject } from "./pageProject.ts";
import { type BrowserTask, chainOps } from "./tasks.ts";

interface OrtTensor {
  getData(): Promise<Float32Array>;
  dispose(): void;
}

interface Ort {
  readonly env: {
    readonly wasm: { wasmPaths: object; numThreads: number };
    readonly webgpu: { readonly device: Promise<GPUDevice> | GPUDevice };
    logLevel: string;
  };
  readonly Tensor: {
    fromGpuBuffer(buffer: GPUBuffer, options: { readonly dataType: "float32"; readonly dims: readonly number[] }): OrtTensor;
  };
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: object,
    ): Promise<{
      run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
      release(): Promise<void>;
    }>;
  };
}

/** `GPUBufferUsage` of storage that is copied from and to. */
const tensorUsage = 0x80 | 0x4 | 0x8;

/**
 * ONNX Runtime from its module; `wasm` is the address of its WASM file, which it finds by itself in Node. Operands and results stay on the
 * device.
 */
export async function openOnnxruntime(module: object, wasm: string | undefined): Promise<PageProject> {
  const ort = module as Ort;
  if (wasm !== undefined) ort.env.wasm.wasmPaths = { wasm };
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  return {
    name: "onnxruntime-web",
    async prepare(task, operands) {
      const shapes = operands.map(({ shape }) => shape);
      const graph = {
        inputs: Object.fromEntries(shapes.map((shape, i) => [`x${i}`, shape])),
        outputs: { y: shapes[0]! },
        initializers: [],
        nodes: nodesOf(task),
      };
      const options = { executionProviders: ["webgpu"], preferredOutputLocation: "gpu-buffer", logSeverityLevel: 3 };
      const session = await ort.InferenceSession.create(onnxModel(graph), options);
      const device = await ort.env.webgpu.device;
      const buffers = operands.map(({ data }) => {
        const buffer = device.createBuffer({ size: data.byteLength, usage: tensorUsage });
        device.queue.writeBuffer(buffer, 0, data);
        return buffer;
      });
      const feeds = Object.fromEntries(
        buffers.map((buffer, i) => [`x${i}`, ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: shapes[i]! })]),
      );
      let last: OrtTensor | undefined;
      return {
        async run() {
          last?.dispose();
          last = named(await session.run(feeds), "y");
        },
        settle: () => device.queue.onSubmittedWorkDone(),
        result: () => last!.getData(),
        async dispose() {
          last?.dispose();
          await session.release();
          for (const buffer of buffers) buffer.destroy();
        },
      };
    },
  };
}

function nodesOf({ kind }: BrowserTask): readonly OnnxNode[] {
  switch (kind) {
    case "matmul":
      return [{ op: "MatMul", inputs: ["x0", "x1"], output: "y" }];
    case "softmax":
      return [{ op: "Softmax", inputs: ["x0"], output: "y", attributes: { axis: 1 } }];
    case "conv2d":
      return [{ op: "Conv", inputs: ["x0", "x1"], output: "y", attributes: { auto_pad: "SAME_UPPER" } }];
    case "chain":
      return Array.from({ length: chainOps }, (_, step): OnnxNode => {
        const from = step === 0 ? "x0" : `t${step}`;
        const output = step === chainOps - 1 ? "y" : `t${step + 1}`;
        return step % 2 === 0 ? { op: "Add", inputs: [from, "x1"], output } : { op: "Mul", inputs: [from, "x2"], output };
      });
  }
}
