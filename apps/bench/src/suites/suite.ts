import type { Backend } from "@centella/core";
import type { ModelCompetitor } from "../models/competitor.ts";
import type { Row } from "../runner/subject.ts";
import type { Competitor } from "../tasks/competitor.ts";

/** Subjects of a suite's rows: one kind of device at a time, since an open GPU device keeps a CPU core busy. */
export interface SuiteContext {
  readonly kind: "cpu" | "gpu";
  /** Open backends of this kind. */
  readonly backends: readonly Backend[];
  /** Ours first. */
  readonly competitors: readonly Competitor[];
  readonly modelCompetitors: readonly ModelCompetitor[];
  /** GGUF files to run. */
  readonly models: readonly string[];
  readonly quick: boolean;
  /** Bytes of buffers that are large enough to be read from memory. */
  readonly memoryBytes: number;
}

export interface Suite {
  readonly name: string;
  readonly summary: string;
  rows(context: SuiteContext): readonly Row[];
}
