/** The thread of `exactlyAdded`. */
import { parentPort, workerData } from "node:worker_threads";
import { reference } from "@centella/core";
import { addedBy, type LayerCase } from "./recordLayer.ts";

/** What the thread is given. */
export interface ExactLayer {
  readonly layer: LayerCase;
  /** `[tokens, embedding]` */
  readonly x: Float32Array;
}

const { layer, x } = workerData as ExactLayer;
const backend = await reference().open();
parentPort?.postMessage(await addedBy(backend, layer, "f32", x));
