import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ExactLayer } from "./exactLayerThread.ts";
import type { LayerCase } from "./recordLayer.ts";

/** What a layer adds to its input on the scalar reference, which adds in f64; computed by a thread of its own. */
export async function exactlyAdded(layer: LayerCase, x: Float32Array): Promise<Float64Array> {
  // Run from dist as well as from sources.
  const isSource = import.meta.url.endsWith(".ts");
  const url = new URL(isSource ? "./exactLayerThread.ts" : "./exactLayerThread.js", import.meta.url);
  const workerData: ExactLayer = { layer, x };
  const worker = new Worker(url, { workerData, execArgv: isSource ? ["--conditions=@centella/source", "--no-warnings"] : [] });
  try {
    // Rejects with an error of the thread.
    const [added] = (await once(worker, "message")) as [Float64Array];
    return added;
  } finally {
    await worker.terminate();
  }
}
