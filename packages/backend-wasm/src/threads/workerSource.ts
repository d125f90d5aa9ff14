import { workerMain } from "./worker.ts";

/**
 * A worker's whole program. The build writes it out as text: what some bundlers make of a function (helpers that keep names, counters of
 * coverage) does not run where it stands alone.
 */
export const workerSource: string = `(${workerMain.toString()})()`;
