export * from "@tensorflow/tfjs-core";

import "@tensorflow/tfjs-backend-webgpu";
