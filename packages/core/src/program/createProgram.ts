import { type ExplainedBackend, explain, type Placed } from "../compiler/explain.ts";
import { createRecorder, type OpRecorder } from "./program.ts";

/** A recorder that can tell what becomes of what it recorded. */
export interface Program extends OpRecorder {
  /** What becomes of the program on a backend, for people: see {@link explain}. */
  explain(on?: ExplainedBackend | Placed): string;
}

/**
 * Starts an empty program.
 * ```ts
 * const program = createProgram();
 * const T = program.dim("T", 512);
 * const x = program.input("x", "f32", [T, 64]);
 * const w = program.persistent("w", { dtype: "f32", shape: [64, 10] });
 * program.output("y", program.relu(program.matmul(x, w)));
 * ```
 */
export function createProgram(): Program {
  const recorder = createRecorder();
  return Object.assign(recorder, { explain: (on?: ExplainedBackend | Placed) => explain(recorder, on) });
}
