import { parentPort } from "node:worker_threads";
import { convertRows, type RowsJob, release } from "./convertRows.ts";

/** Answer of a thread to a job. */
export type ConvertAnswer = { readonly bytes: Uint8Array<ArrayBuffer> } | { readonly problem: string };

parentPort?.on("message", (job: RowsJob) => {
  try {
    const bytes = convertRows(job);
    release(job.bytes);
    parentPort?.postMessage({ bytes } satisfies ConvertAnswer, [bytes.buffer]);
  } catch (error) {
    parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) } satisfies ConvertAnswer);
  }
});
