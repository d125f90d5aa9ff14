import { loadPeer, peerVersion } from "./load.ts";
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
    return {
      version: peerVersion("onnxruntime-web"),
      competitor: onnxCompetitor("onnxruntime-web", threads, runtime, { executionProviders: ["wasm"], logSeverityLevel: 3 }),
      dispose: () => undefined,
    };
  },
};
