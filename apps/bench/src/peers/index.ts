import { jax } from "./jax.ts";
import { nodeLlamaCpp } from "./nodeLlamaCpp.ts";
import { numpy } from "./numpy.ts";
import { onnxruntimeNode } from "./onnxruntimeNode.ts";
import { onnxruntimeWeb } from "./onnxruntimeWeb.ts";
import type { PeerAdapter } from "./peer.ts";
import { scalar } from "./scalar.ts";
import { tfjsWasm, tfjsWebgpu } from "./tfjs.ts";
import { wllama } from "./wllama.ts";

export const peers: readonly PeerAdapter[] = [
  scalar,
  onnxruntimeWeb,
  onnxruntimeNode,
  tfjsWasm,
  tfjsWebgpu,
  jax,
  nodeLlamaCpp,
  wllama,
  numpy,
];
