import type { BrowserTask, PageOperand } from "./tasks.ts";

/** A project that computes in a page. */
export interface PageProject {
  readonly name: string;
  /** Prepares a task with its operands on the device. */
  prepare(task: BrowserTask, operands: readonly PageOperand[]): Promise<PreparedTask>;
}

export interface PreparedTask {
  /** Submits one call; its result stays on the device. */
  run(): unknown;
  /** Resolves when the device has computed all calls. */
  settle(): Promise<unknown>;
  /** The result of the last call, axes in the order of Centella's ops. */
  result(): Promise<Float32Array>;
  dispose(): unknown;
}
