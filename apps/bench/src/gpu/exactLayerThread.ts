/** The thread of {@link exactlyAdded}. */
import { parentPort, workerData } from "node:worker_threads";
import { reference } from "@centella/core";
import type { ExactLayer } from "./exactLayer.ts";
import { addedBy } from "./recordLayer.ts";

const { layer, x } = workerData as ExactLayer;
const backend = await reference().open();
parentPort?.postMessage(await addedBy(backend, layer, "f32", x));
