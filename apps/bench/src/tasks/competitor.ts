import type { Side, Subject } from "../runner/subject.ts";
import type { Task } from "./task.ts";

/** Runs tasks: one of our backends, or a peer. */
export interface Competitor {
  readonly name: string;
  readonly side: Side;
  /** Threads that it computes with; undefined on a GPU. */
  readonly threads: number | undefined;
  /**
   * Makes a task ready to run on `sets` buffer sets.
   * @throws {Skip} if it does not take part in this task
   */
  prepare(task: Task, sets: number): Promise<Subject>;
}
