/** Prepared work that can be measured. */
export interface Subject {
  /** Calls `calls` times, the first call on buffer set `first`, and returns the seconds (MiB rows: the bytes) of all calls together. */
  sample(calls: number, first: number): Promise<number>;
  /** The output of one more call on buffer set 0; undefined if the subject checks nothing. */
  result(): Promise<ArrayLike<number> | undefined>;
  dispose(): Promise<void> | void;
}

/** Thrown by a contestant that cannot take part; the message is the reason. */
export class Skip extends Error {
  override name = "Skip";
}

/** Whether a subject belongs to this project or to a peer. */
export type Side = "ours" | "peer";

/** Competitor in a row. `prepare` allocates and compiles; the runner disposes its result. */
export interface Contestant {
  readonly name: string;
  readonly side: Side;
  /** Threads that it computes with; undefined on a GPU. */
  readonly threads: number | undefined;
  /** @throws {Skip} */
  prepare(): Promise<Subject>;
}

/** Work in one call of a row's subjects. */
export interface Work {
  /** Floating-point operations, or integer operations in their place; a multiply-add counts as two. */
  readonly flops?: number;
  /** Bytes that must be moved: each input read once, each output written once. */
  readonly bytes?: number;
  /** Tokens of a model. */
  readonly tokens?: number;
  /** Recorded ops. */
  readonly ops?: number;
}

/** Unit in which a row is quoted. */
export type Metric = "GFLOP/s" | "GB/s" | "MB/s" | "tokens/s" | "µs" | "µs/op" | "ms" | "MiB";

/** Ceiling that bounds a row; none for latencies and for data in a cache. */
export type Bound = "flops" | "dots" | "read" | "copy" | "none";

/** One row of a suite: a piece of work and its competitors. */
export interface Row {
  /** Unique in its suite and stable over time: baselines are matched by it. */
  readonly id: string;
  readonly metric: Metric;
  readonly bound: Bound;
  readonly work: Work;
  /** Source of the data of consecutive calls, given the rotation; "-" if it does not matter. */
  readonly data: "cache" | "memory" | "-";
  /** Whether the row is prepared again for each pass, because the buffers of all rows together would not fit. */
  readonly isLarge: boolean;
  /** Whether a single call suffices as warm-up, because each call starts from scratch. */
  readonly isCold?: boolean;
  /** Note next to the row's figures in tables, e.g. figures published elsewhere. */
  readonly note?: string;
  readonly contestants: readonly Contestant[];
  /** Describes the defect of a result; undefined for a correct one. Peers may round where ours must not. */
  verify(result: ArrayLike<number>, side: Side): string | undefined;
}
