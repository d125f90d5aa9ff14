import { workerData } from "node:worker_threads";
import { serveModels } from "@centella/llm/worker/serve";
import { openRuntime, type RuntimeOptions } from "../backends.ts";

// The script of a worker that holds the models of one device.
serveModels(() => openRuntime(workerData as RuntimeOptions));
