import { loadPeer, peerVersion } from "./load.ts";
import { type OnnxRuntime, onnxCompetitor } from "./onnxTask.ts";
import type { PeerAdapter } from "./peer.ts";

/** onnxruntime-node: native code with the widest SIMD of the machine, for scale. */
export const onnxruntimeNode: PeerAdapter = {
  name: "onnxruntime-node",
  kind: "cpu",
  async open({ threads }) {
    const { default: runtime } = (await loadPeer("onnxruntime-node")) as { readonly default: OnnxRuntime };
    return {
      version: peerVersion("onnxruntime-node"),
      competitor: onnxCompetitor("onnxruntime-node", threads, runtime, {
        executionProviders: ["cpu"],
        intraOpNumThreads: threads,
        logSeverityLevel: 3,
      }),
      dispose: () => undefined,
    };
  },
};
