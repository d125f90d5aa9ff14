export type { ModelWorker } from "./endpoint.ts";
export { serveModels } from "./serveModels.ts";
export { loadModel, type WorkerLoadOptions, WorkerModel, type WorkerTokenizer } from "./workerModel.ts";
export { WorkerSession } from "./workerSession.ts";
