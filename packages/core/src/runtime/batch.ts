import { abortSignal, check, checkOptions, describe } from "@centella/quant/checks";
import type { Backend } from "../backend/backend.ts";
import type { DType, TypedArray } from "../dtype.ts";
import { ArgumentError, DisposedError, ProgramError } from "../errors.ts";
import { openBackend } from "../kinds.ts";
import { storedData, type TensorData } from "../numbers.ts";
import { type CustomOp, customOp } from "../program/custom.ts";
import type { AnyOp } from "../program/op.ts";
import type { OpMethods } from "../program/opMethods.ts";
import { createRecorder, type OpRecorder, opMethods, Value } from "../program/program.ts";
import type { Tensor } from "../tensor.ts";

/** A command batch: op methods record, {@link BatchCore.execute} computes all of it in one run. */
export type Batch = BatchCore & OpMethods<Value, Value>;

/**
 * Starts a batch on a backend: one run, with one upload and one readback, for a chain of ops, however long. It is a program that
 * runs once; a computation that runs more than once is cheaper as a program that is compiled once.
 * ```ts
 * using batch = createBatch(backend);
 * const x = batch.upload([1, -2, 3]);
 * const y = batch.scale(batch.relu(x), { by: 2 });
 * await batch.execute();
 * await batch.read(y); // Float32Array [2, 0, 6]
 * ```
 */
export function createBatch(backend: Backend): Batch {
  check("createBatch", "backend", backend, openBackend, "pass one of runtime.backends");
  const recording = new Recording();
  return Object.assign(
    new BatchCore(backend, recording),
    opMethods<Value, Value>((op, inputs, params) => recording.record(op, inputs, params)),
  );
}

/** The program of a batch, which records until the batch is executed. */
class Recording {
  readonly program: OpRecorder = createRecorder();
  /** Results of the calls in order. */
  readonly values: Value[] = [];
  state: "recording" | "executing" | "executed" | "failed" | "disposed" = "recording";

  record(op: AnyOp, inputs: readonly (Value | undefined)[], params: object): Value {
    this.requireRecording(op.name);
    const value = this.program.record(op, inputs, params);
    this.values.push(value);
    return value;
  }

  /** @throws {DisposedError | ProgramError} */
  requireRecording(what: string): void {
    this.#require(what, "recording", "start another with createBatch()");
  }

  /** @throws {DisposedError | ProgramError} */
  requireExecuted(what: string): void {
    this.#require(what, "executed", "await execute() first");
  }

  /** @throws {ArgumentError | ProgramError} unless `value` is one of this batch */
  requireOwn(what: string, value: Value): void {
    if (!(value instanceof Value)) throw new ArgumentError(what, "a value of this batch", describe(value), "make one with upload()");
    if (value.program !== this.program)
      throw new ProgramError(`${what}: expected a value of this batch, got one of another program; use it with the batch that made it`);
  }

  #require(what: string, state: typeof this.state, fix: string): void {
    if (this.state === "disposed") throw new DisposedError("batch");
    if (this.state !== state) throw new ProgramError(`${what}: expected a batch that is ${state}, got one that is ${this.state}; ${fix}`);
  }
}

/** A batch without its op methods. */
export class BatchCore {
  readonly #backend: Backend;
  readonly #recording: Recording;
  readonly #uploads: Record<string, TypedArray> = {};
  readonly #kept = new Set<Value>();
  readonly #results = new Map<string, Tensor>();

  constructor(backend: Backend, recording: Recording) {
    this.#backend = backend;
    this.#recording = recording;
  }

  /** An input of the batch, of what `runtime.tensor` accepts; the data is copied. @throws {ShapeError | DTypeError | ProgramError} */
  upload(data: TensorData, shape?: readonly number[], dtype?: DType): Value {
    this.#recording.requireRecording("upload");
    const [spec, stored] = storedData("upload", data, shape, dtype);
    const { program } = this.#recording;
    const name = `upload${program.inputs.size}`;
    this.#uploads[name] = stored === data ? stored.slice() : stored;
    return program.input(name, spec.dtype, spec.shape);
  }

  /** Makes a value a result although other ops consume it, so that it can be read. */
  keep(value: Value): Value {
    this.#recording.requireRecording("keep");
    this.#recording.requireOwn("keep", value);
    this.#kept.add(value);
    return value;
  }

  /** Records a call of an op of the user's own: see {@link CustomOp}. */
  custom<P extends object>(op: CustomOp<P>, inputs: readonly Value[], params: Partial<NoInfer<P>> = {}): Value {
    return this.#recording.record(customOp(op), inputs, params);
  }

  /**
   * Computes everything that was recorded, once. Results are the values that no other op consumes, and those of {@link keep}.
   * @throws {ProgramError} at the second call, or where nothing was recorded
   * @throws {DisposedError} if the batch was disposed of, also while its program is compiled
   */
  async execute(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const recording = this.#recording;
    recording.requireRecording("execute");
    const { signal } = checkOptions("execute", options, { signal: abortSignal });
    const { program, values } = recording;
    const consumed = new Set(program.nodes.flatMap(({ inputs }) => inputs));
    const results = new Set([...values.filter(({ id }) => !consumed.has(id)), ...this.#kept]);
    if (results.size === 0) throw new ProgramError("execute: expected at least one op, got none; record ops on uploaded tensors first");
    for (const value of results) program.output(String(value.id), value);
    recording.state = "executing";
    try {
      await this.#run(program, signal === undefined ? {} : { signal });
      if (recording.state === "executing") recording.state = "executed";
    } catch (error) {
      if (recording.state === "executing") recording.state = "failed";
      throw error;
    }
  }

  /** A result's elements in stored form. @throws {ProgramError} before {@link execute}, or for a value that is no result */
  async read(value: Value): Promise<TypedArray> {
    this.#recording.requireOwn("read", value);
    this.#recording.requireExecuted("read");
    const result = this.#results.get(String(value.id));
    if (result === undefined) {
      throw new ProgramError(
        "read: expected a result, got a value that another op consumes or an upload; mark it with keep() before execute()",
      );
    }
    return result.data();
  }

  /** Frees the results. Further calls do nothing. */
  dispose(): void {
    this.#recording.state = "disposed";
    for (const result of this.#results.values()) result.dispose();
    this.#results.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #run(program: OpRecorder, options: { readonly signal?: AbortSignal }): Promise<void> {
    const plan = await this.#backend.compile(program, options);
    try {
      if (this.#recording.state === "disposed") throw new DisposedError("batch");
      const outputs = Object.entries(plan.run(this.#uploads, options));
      for (const [name, output] of outputs) this.#results.set(name, output);
      await Promise.all(outputs.map(([, output]) => output.ready()));
    } finally {
      plan.dispose();
    }
  }
}
