/** Something that is measured, ready to run. */
export interface Subject {
  /** Calls `calls` times, the first call on buffer set `first`, and returns the seconds (MiB rows: the bytes) of all calls together. */
  sample(calls: number, first: number): Promise<number>;
  /** The output of one more call on buffer set 0; undefined if the subject checks nothing. */
  result(): Promise<ArrayLike<number> | undefined>;
  dispose(): Promise<void> | void;
}

/** Thrown by a contestant that cannot take part, with the reason in words. */
export class Skip extends Error {
  override name = "Skip";
}

/** Whether a subject is this project's or somebody else's. */
export type Side = "ours" | "peer";

/** Who competes in a row. `prepare` allocates and compiles; what it gives is disposed of by the runner. */
export interface Contestant {
  readonly name: string;
  readonly side: Side;
  /** Threads that it computes with; undefined on a GPU. */
  readonly threads: number | undefined;
  /** @throws {Skip} */
  prepare(): Promise<Subject>;
}

/** What a call of a row's subjects amounts to. */
export interface Work {
  /** Floating-point operations, a multiply-add as two; those of integers where they stand for them. */
  readonly flops?: number;
  /** Bytes that must be moved: each input read once, each output written once. */
  readonly bytes?: number;
  /** Tokens of a model. */
  readonly tokens?: number;
  /** Recorded ops. */
  readonly ops?: number;
}

/** Figures in which a row is quoted. */
export type Metric = "GFLOP/s" | "GB/s" | "MB/s" | "tokens/s" | "µs" | "µs/op" | "ms" | "MiB";

/** Which ceiling bounds a row: none for latencies and for data in a cache. */
export type Bound = "flops" | "dots" | "read" | "copy" | "none";

/** One line of a suite: a piece of work and who does it. */
export interface Row {
  /** Unique in its suite and stable over time: baselines are matched by it. */
  readonly id: string;
  readonly metric: Metric;
  readonly bound: Bound;
  readonly work: Work;
  /** Where the data of consecutive calls comes from, given the rotation: "-" where that is not the question. */
  readonly data: "cache" | "memory" | "-";
  /** Prepared for each pass anew, because the buffers of all rows together would not fit. */
  readonly isLarge: boolean;
  /** Warms up with a single call: each call starts from nothing anyway. */
  readonly isCold?: boolean;
  /** What stands beside the row's figures in tables, such as those of others. */
  readonly note?: string;
  readonly contestants: readonly Contestant[];
  /** What is wrong with a result, or undefined. Peers may round where ours must not. */
  verify(result: ArrayLike<number>, side: Side): string | undefined;
}
