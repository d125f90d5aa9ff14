import { abortSignal, callback, check, checkOptions, describe, string } from "@centella/quant/checks";
import type { Backend } from "../backend/backend.ts";
import { type DType, dtypeOf, type TypedArray } from "../dtype.ts";
import { ArgumentError, DisposedError, ProgramError } from "../errors.ts";
import { opDefinition, openBackend } from "../kinds.ts";
import { type CustomOp, customOp } from "../program/custom.ts";
import type { AnyOp } from "../program/op.ts";
import type { OpMethods } from "../program/opMethods.ts";
import { createRecorder, type OpRecorder, opMethods, requireInputs, Value } from "../program/program.ts";
import type { TensorSpec } from "../spec.ts";
import { checkData, type Tensor } from "../tensor.ts";

/**
 * A value of a batch. It belongs to that batch alone: a handle of another one is an error, at run time always, and for the
 * compiler where the two batches have different names.
 */
export class BatchHandle<Name extends string = string> {
  /** The batch's name. */
  readonly batch: Name;
  readonly spec: TensorSpec;
  readonly #ref: Value;

  constructor(batch: Name, ref: Value) {
    this.batch = batch;
    this.spec = ref.spec;
    this.#ref = ref;
  }

  /** The batch program's own handle. @throws {ProgramError} if `handle` is of another program */
  static refOf(what: string, handle: BatchHandle | undefined, program: OpRecorder, batch: string): Value {
    if (!(handle instanceof BatchHandle))
      throw new ArgumentError(what, "a handle of this batch", describe(handle), "make one with upload()");
    if (handle.#ref.program === program) return handle.#ref;
    const [own, other] = [batch, handle.batch].map((name) => (name === "" ? "" : ` ${name}`));
    throw new ProgramError(
      `${what}: expected a handle of this batch${own}, got one of another${other}; use it with the batch that made it`,
    );
  }
}

/** A command batch: op methods record, {@link BatchCore.execute} computes all of it in one submission. */
export type Batch<Name extends string = ""> = BatchCore<Name> & OpMethods<BatchHandle<Name>, BatchHandle<Name>>;

/**
 * Starts a batch on a backend: one upload, one submission and one readback for a chain of ops, however long.
 * ```ts
 * using batch = createBatch(backend);
 * const x = batch.upload(Float32Array.of(1, -2, 3), [3]);
 * const y = batch.scale(batch.relu(x), { by: 2 });
 * await batch.execute();
 * await batch.read(y); // Float32Array [2, 0, 6]
 * ```
 * A computation that runs more than once is cheaper as a program that is compiled once. Give batches that are alive together
 * different names, or use {@link withBatch}, and the compiler tells their handles apart.
 */
export function createBatch<const Name extends string = "">(backend: Backend, options: { readonly name?: Name } = {}): Batch<Name> {
  check("createBatch", "backend", backend, openBackend, "pass one of runtime.backends");
  const { name } = checkOptions("createBatch", options, { name: string });
  const batch = new BatchCore<Name>(backend, (name ?? "") as Name);
  return Object.assign(
    batch,
    opMethods<BatchHandle<Name>, BatchHandle<Name>>((op, inputs, params) => batch.record(op, inputs, params)),
  );
}

/**
 * A batch for as long as a function runs; its results are freed with it. Within, the batch has a type of its own, so that handles of
 * two batches that are alive together, named or not, cannot be mixed: the compiler refuses it.
 * ```ts
 * const sum = await withBatch(backend, async (batch) => {
 *   const y = batch.sum(batch.upload(Float32Array.of(1, 2, 3)));
 *   await batch.execute();
 *   return batch.read(y);
 * });
 * ```
 */
export async function withBatch<Result>(
  backend: Backend,
  use: <Own extends string>(batch: Batch<Own>) => Promise<Result>,
): Promise<Result> {
  check("withBatch", "use", use, callback);
  const batch = createBatch(backend);
  try {
    return await use(batch);
  } finally {
    batch.dispose();
  }
}

/** A batch without its op methods. */
export class BatchCore<Name extends string = ""> {
  readonly name: Name;
  readonly #backend: Backend;
  readonly #program: OpRecorder = createRecorder();
  readonly #uploads: Record<string, TypedArray> = {};
  readonly #kept = new Set<number>();
  readonly #results = new Map<number, Tensor>();
  #state: "recording" | "executing" | "executed" | "failed" | "disposed" = "recording";

  constructor(backend: Backend, name: Name) {
    this.#backend = backend;
    this.name = name;
  }

  /** An input of the batch. `data` is in the dtype's stored form and is copied. @throws {ShapeError | DTypeError | ProgramError} */
  upload(data: TypedArray, shape?: readonly number[], dtype: DType = dtypeOf(data)): BatchHandle<Name> {
    this.#checkRecording("upload");
    const spec = { dtype, shape: shape ?? [data.length] };
    checkData("upload", spec, data);
    const name = `upload${this.#program.inputs.size}`;
    const handle = this.#program.input(name, dtype, spec.shape);
    this.#uploads[name] = data.slice();
    return new BatchHandle(this.name, handle);
  }

  /** Makes a value that other ops consume a result too, so that it can be read. */
  keep(handle: BatchHandle<Name>): BatchHandle<Name> {
    this.#checkRecording("keep");
    this.#kept.add(this.#refOf("keep", handle).id);
    return handle;
  }

  record(op: AnyOp, inputs: readonly (BatchHandle<Name> | undefined)[], params: object): BatchHandle<Name> {
    check("record", "op", op, opDefinition);
    this.#checkRecording(op.name);
    requireInputs(op, inputs);
    const refs = Array.from(inputs, (handle, i) =>
      handle === undefined && i >= op.inputs.length ? undefined : this.#refOf(op.name, handle),
    );
    return new BatchHandle(this.name, this.#program.record(op, refs, params));
  }

  /** Records a call of an op of the user's own: see {@link CustomOp}. */
  custom<P extends object>(op: CustomOp<P>, inputs: readonly BatchHandle<Name>[], params: Partial<NoInfer<P>> = {}): BatchHandle<Name> {
    return this.record(customOp(op), inputs, params);
  }

  /**
   * Computes everything that was recorded, once. Results are the values that no other op consumes, and those of {@link keep}.
   * @throws {ProgramError} at the second call, or where nothing was recorded
   */
  async execute(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#checkRecording("execute");
    const { signal } = checkOptions("execute", options, { signal: abortSignal });
    const results = this.#resultIds();
    if (results.length === 0) throw new ProgramError("execute: expected at least one op, got none; record ops on uploaded tensors first");
    this.#state = "executing";
    try {
      for (const id of results) this.#program.output(String(id), new Value(this.#program, id, this.#program.values[id]!.spec));
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
  async read(handle: BatchHandle<Name>): Promise<TypedArray> {
    const { id } = this.#refOf("read", handle);
    if (this.#state === "disposed") throw new DisposedError("batch");
    if (this.#state !== "executed")
      throw new ProgramError(`read: expected an executed batch, got one that is ${this.#state}; await execute() first`);
    const result = this.#results.get(id);
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
    return [...new Set([...leaves, ...this.#kept])];
  }

  #checkRecording(what: string): void {
    if (this.#state === "disposed") throw new DisposedError("batch");
    if (this.#state !== "recording")
      throw new ProgramError(
        `${what}: expected a batch that is recording, got one that is ${this.#state}; start another with createBatch()`,
      );
  }

  #refOf(what: string, handle: BatchHandle | undefined): Value {
    return BatchHandle.refOf(what, handle, this.#program, this.name);
  }
}
