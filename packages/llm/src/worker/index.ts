export type { ModelWorker } from "./endpoint.ts";
export { loadModel, type WorkerLoadOptions, WorkerModel, type WorkerTokenizer } from "./workerModel.ts";
export { WorkerSession } from "./workerSession.ts";
