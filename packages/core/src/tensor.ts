import { describe, isAttached } from "@centella/quant/checks";
import { type DType, type TypedArray, typedArrayOf } from "./dtype.ts";
import { ArgumentError, DisposedError, DTypeError, ProgramError, ShapeError } from "./errors.ts";
import { byteLength, type ConcreteSpec, checkSpec, formatSpec } from "./spec.ts";

/** The memory of a tensor, as a backend implements it. */
export interface TensorStorage {
  /** Name of the backend that holds the memory, or "host". */
  readonly device: string;
  /** Resolves when the work that produces the content is done, rejects with its error. */
  ready(): Promise<void>;
  /** The stored form, as a new array, once the work that produces it is done. Rejects with that work's error. */
  read(): Promise<TypedArray>;
  /** Like {@link read}, but fills `target`, which has the size of the stored form. For storages that would copy it anyway. */
  readInto?(target: TypedArray): Promise<void>;
  /** The stored form, if it is available after at most a copy to the host. The caller must not change it. */
  peek?(): TypedArray | undefined;
  free(): void;
}

/** Handle of a tensor's memory on a backend or on the host. It owns the memory: `dispose()` it, or declare it with `using`. */
export class Tensor {
  readonly spec: ConcreteSpec;
  readonly #storage: TensorStorage;
  #disposed = false;

  constructor(spec: ConcreteSpec, storage: TensorStorage) {
    this.spec = spec;
    this.#storage = storage;
  }

  get shape(): readonly number[] {
    return this.spec.shape;
  }

  get dtype(): DType {
    return this.spec.dtype;
  }

  /** Name of the backend that holds the memory, or "host". */
  get device(): string {
    return this.#storage.device;
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** The memory, for backends. @throws {DisposedError} */
  get storage(): TensorStorage {
    if (this.#disposed) throw disposed(this.spec);
    return this.#storage;
  }

  /**
   * The elements in stored form (see `typedArrayOf`), row-major, as a copy that the caller owns. Waits for the run that
   * computes them and rejects with its error.
   */
  data(): Promise<TypedArray> {
    return this.#disposed ? Promise.reject(disposed(this.spec)) : this.#storage.read();
  }

  /**
   * Like {@link data}, but fills an array of the caller. To reuse one saves the time of new memory, which for megabytes is longer than the
   * transfer from a GPU.
   * @throws {ShapeError | DTypeError} if `target` is not the stored form of such a tensor
   */
  async readInto(target: TypedArray): Promise<void> {
    const { spec, storage } = this;
    checkData("readInto", spec, target);
    if (storage.readInto !== undefined) return storage.readInto(target);
    await storage.ready();
    target.set(storage.peek?.() ?? (await storage.read()));
  }

  /**
   * Like {@link data}, but returns before other work runs. Works for host tensors, results of `runtime.sync`, and finished tensors of
   * backends that can copy them at once (`syncAvailable`). @throws {ProgramError} if the content must be awaited
   */
  dataSync(): TypedArray {
    return peek(this).slice();
  }

  /** Waits for the run that computes this tensor, without reading it back. Rejects with the run's error. */
  async ready(): Promise<void> {
    return this.storage.ready();
  }

  /** Frees the memory. Further calls do nothing. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#storage.free();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function disposed(spec: ConcreteSpec): DisposedError {
  return new DisposedError(`tensor ${formatSpec(spec)}`);
}

/** A tensor in host memory. `data` is copied. @throws {ShapeError | DTypeError} if `data` does not fit `spec`. */
export function hostTensor(spec: ConcreteSpec, data: TypedArray): Tensor {
  checkData("tensor", spec, data);
  return ownedTensor(spec, data.slice());
}

/** A host tensor that takes over `data`. No other code may use the array. */
export function ownedTensor(spec: ConcreteSpec, data: TypedArray): Tensor {
  let kept: TypedArray | undefined = data;
  return new Tensor(spec, {
    device: "host",
    ready: async () => undefined,
    read: async () => kept!.slice(),
    peek: () => kept,
    free: () => {
      kept = undefined;
    },
  });
}

/** A tensor's stored form, at once. The caller must not change it. @throws {ProgramError} if the content must be awaited */
export function peek({ spec, storage }: Tensor): TypedArray {
  const data = storage.peek?.();
  if (data === undefined)
    throw new ProgramError(
      `tensor ${formatSpec(spec)} on ${storage.device}: expected its content to be at hand, got one to wait for; await data()`,
    );
  return data;
}

/** @throws {ShapeError | DTypeError} unless the spec is valid and `data` is the stored form of a tensor of this spec. */
export function checkData(where: string, spec: ConcreteSpec, data: TypedArray): void {
  checkSpec(where, spec);
  const type = typedArrayOf(spec.dtype);
  if (!(data instanceof type))
    throw new DTypeError(where, `${type.name} for ${formatSpec(spec)}`, describe(data), "pass the stored form of the dtype");
  if (!isAttached(data))
    throw new ArgumentError(where, "an array whose buffer is not detached", "one that was transferred", "pass a copy to one of the two");
  const bytes = byteLength(spec);
  if (data.byteLength !== bytes) {
    const expected = `${bytes / type.BYTES_PER_ELEMENT} elements for ${formatSpec(spec)}`;
    throw new ShapeError(where, expected, String(data.length), "pass as many as the shape has");
  }
}
