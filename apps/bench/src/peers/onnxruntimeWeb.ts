import { loadPeer, peerVersion } from "./load.ts";
import { onnxModel } from "./onnxModel.ts";
import { type OnnxRuntime, onnxCompetitor } from "./onnxTask.ts";
import type { PeerAdapter } from "./peer.ts";

interface OnnxRuntimeWeb extends OnnxRuntime {
  readonly env: { readonly wasm: { numThreads: number }; logLevel: string };
}

/** onnxruntime-web: its WASM backend, in Node. */
export const onnxruntimeWeb: PeerAdapter = {
  name: "onnxruntime-web",
  kind: "cpu",
  async open({ threads }) {
    const runtime = (await loadPeer("onnxruntime-web")) as OnnxRuntimeWeb;
    runtime.env.wasm.numThreads = threads;
    runtime.env.logLevel = "error";
    await startThreads(runtime);
    return {
      version: peerVersion("onnxruntime-web"),
      competitor: onnxCompetitor("onnxruntime-web", threads, runtime, { executionProviders: ["wasm"], logSeverityLevel: 3 }),
      dispose: () => undefined,
    };
  },
};

/**
 * Makes it start its threads now, and takes the global `Worker` away again that it defines for them in Node: jax-js would take this
 * process for a browser.
 */
async function startThreads({ InferenceSession }: OnnxRuntimeWeb): Promise<void> {
  const before = Object.getOwnPropertyDescriptor(globalThis, "Worker");
  const model = onnxModel({
    inputs: { x: [1] },
    outputs: { y: [1] },
    initializers: [],
    nodes: [{ op: "Identity", inputs: ["x"], output: "y" }],
  });
  await (await InferenceSession.create(model, { executionProviders: ["wasm"] })).release();
  if (before === undefined) Reflect.deleteProperty(globalThis, "Worker");
}
