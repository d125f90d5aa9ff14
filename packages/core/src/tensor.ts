import { type TypedArray, typedArrayOf } from "./dtype.ts";
import { DisposedError, DTypeError, ShapeError } from "./errors.ts";
import { byteLength, type ConcreteSpec, formatSpec } from "./spec.ts";

/** What a backend keeps behind a tensor handle. */
export interface TensorStorage {
  /** Name of the backend that holds the memory, or "host". */
  readonly home: string;
  /** Resolves when the work that produces the content is done, rejects with its error. */
  ready(): Promise<void>;
  /** The stored form, once the work that produces it is done; rejects with that work's error. A fresh array each time. */
  read(): Promise<TypedArray>;
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

  get home(): string {
    return this.#storage.home;
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** The backend's own memory, for that backend. @throws {DisposedError} */
  get storage(): TensorStorage {
    if (this.#disposed) throw new DisposedError(`tensor ${formatSpec(this.spec)}`);
    return this.#storage;
  }

  /**
   * The elements in stored form (see `typedArrayOf`), row-major, as a copy of the caller's own. Waits for the run that
   * computes them and rejects with its error.
   */
  async data(): Promise<TypedArray> {
    return this.storage.read();
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

/** A tensor in host memory. `data` is copied. @throws {ShapeError | DTypeError} if `data` does not fit `spec`. */
export function hostTensor(spec: ConcreteSpec, data: TypedArray): Tensor {
  checkData("tensor", spec, data);
  let kept: TypedArray | undefined = data.slice();
  return new Tensor(spec, {
    home: "host",
    ready: async () => undefined,
    read: async () => kept!.slice(),
    free: () => {
      kept = undefined;
    },
  });
}

/** @throws {ShapeError | DTypeError} unless `data` is the stored form of a tensor of this spec. */
export function checkData(where: string, spec: ConcreteSpec, data: TypedArray): void {
  const type = typedArrayOf(spec.dtype);
  if (!(data instanceof type)) throw new DTypeError(where, `${type.name} for ${formatSpec(spec)}`, data?.constructor?.name ?? typeof data);
  const bytes = byteLength(spec);
  if (data.byteLength !== bytes) {
    const expected = `${bytes / type.BYTES_PER_ELEMENT} elements for ${formatSpec(spec)}`;
    throw new ShapeError(where, expected, String(data.length));
  }
}
