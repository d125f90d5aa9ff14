import { workerMain } from "./worker.ts";

/**
 * The program of a worker. The build replaces it with text: functions that some bundlers change (name helpers, coverage
 * counters) do not run on their own.
 */
export const workerSource: string = `(${workerMain.toString()})()`;
