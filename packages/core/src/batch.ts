import type { Backend } from "./backend.ts";
import { type DType, dtypeOf, type TypedArray } from "./dtype.ts";
import { DisposedError, ProgramError } from "./errors.ts";
import type { AnyOp } from "./op.ts";
import { createProgram, type OpMethods, opMethods, type Program, Ref } from "./program.ts";
import { checkData, type Tensor } from "./tensor.ts";

/** A command batch: op methods record, {@link BatchCore.execute} computes all of it in one submission. */
export type Batch = BatchCore & OpMethods<Ref, Ref>;

/**
 * Starts a batch on a backend: one upload, one submission and one readback for a chain of ops, however long.
 * ```ts
 * using batch = createBatch(backend);
 * const x = batch.upload(Float32Array.of(1, -2, 3), [3]);
 * const y = batch.scale(batch.relu(x), { by: 2 });
 * await batch.execute();
 * await batch.read(y); // Float32Array [2, 0, 6]
 * ```
 * A computation that runs more than once is cheaper as a program that is compiled once.
 */
export function createBatch(backend: Backend): Batch {
  const batch = new BatchCore(backend);
  return Object.assign(
    batch,
    opMethods<Ref, Ref>((op, inputs, params) => batch.record(op, inputs, params)),
  );
}

/** A batch without its op methods. */
export class BatchCore {
  readonly #backend: Backend;
  readonly #program: Program = createProgram();
  readonly #uploads: Record<string, TypedArray> = {};
  readonly #kept = new Set<Ref>();
  readonly #results = new Map<number, Tensor>();
  #state: "recording" | "executing" | "executed" | "failed" | "disposed" = "recording";

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** An input of the batch. `data` is in the dtype's stored form and is copied. @throws {ShapeError | DTypeError | ProgramError} */
  upload(data: TypedArray, shape: readonly number[] = [data.length], dtype: DType = dtypeOf(data)): Ref {
    this.#checkRecording("upload");
    checkData("upload", { dtype, shape }, data);
    const name = `upload${this.#program.inputs.size}`;
    const handle = this.#program.input(name, dtype, shape);
    this.#uploads[name] = data.slice();
    return handle;
  }

  /** Makes a value that other ops consume a result too, so that it can be read. */
  keep(handle: Ref): Ref {
    this.#checkRecording("keep");
    this.#checkOwn("keep", handle);
    this.#kept.add(handle);
    return handle;
  }

  record(op: AnyOp, inputs: readonly (Ref | undefined)[], params: object): Ref {
    this.#checkRecording(op.name);
    return this.#program.record(op, inputs, params);
  }

  /**
   * Computes everything that was recorded, once. Results are the values that no other op consumes, and those of {@link keep}.
   * @throws {ProgramError} at the second call, or where nothing was recorded
   */
  async execute({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#checkRecording("execute");
    const results = this.#resultIds();
    if (results.length === 0) throw new ProgramError("execute: expected at least one op, got none; record ops on uploaded tensors first");
    this.#state = "executing";
    try {
      for (const id of results) this.#program.output(String(id), new Ref(this.#program, id, this.#program.values[id]!.spec));
      const plan = await this.#backend.compile(this.#program, signal === undefined ? {} : { signal });
      try {
        const outputs = plan.run(this.#uploads, signal === undefined ? {} : { signal });
        for (const id of results) this.#results.set(id, outputs[id]!);
        await Promise.all(Object.values(outputs).map((output) => output.ready()));
      } finally {
        plan.dispose();
      }
      this.#state = this.#state === "executing" ? "executed" : this.#state;
    } catch (error) {
      this.#state = "failed";
      throw error;
    }
  }

  /** A result's elements in stored form. @throws {ProgramError} before {@link execute}, or for a value that is no result */
  async read(handle: Ref): Promise<TypedArray> {
    this.#checkOwn("read", handle);
    if (this.#state === "disposed") throw new DisposedError("batch");
    if (this.#state !== "executed")
      throw new ProgramError(`read: expected an executed batch, got one that is ${this.#state}; await execute() first`);
    const result = this.#results.get(handle.id);
    if (result === undefined) {
      throw new ProgramError(
        "read: expected a result, got a value that another op consumes or an upload; mark it with keep() before execute()",
      );
    }
    return result.data();
  }

  /** Frees the results. Further calls do nothing. */
  dispose(): void {
    this.#state = "disposed";
    for (const result of this.#results.values()) result.dispose();
    this.#results.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #resultIds(): readonly number[] {
    const consumed = new Set(this.#program.nodes.flatMap(({ inputs }) => inputs));
    const leaves = this.#program.nodes.map(({ output }) => output).filter((id) => !consumed.has(id));
    return [...new Set([...leaves, ...[...this.#kept].map(({ id }) => id)])];
  }

  #checkRecording(what: string): void {
    if (this.#state === "disposed") throw new DisposedError("batch");
    if (this.#state !== "recording")
      throw new ProgramError(
        `${what}: expected a batch that is recording, got one that is ${this.#state}; start another with createBatch()`,
      );
  }

  #checkOwn(what: string, handle: Ref): void {
    if (handle.program !== this.#program)
      throw new ProgramError(`${what}: expected a handle of this batch, got one of another; read it from the batch that made it`);
  }
}
