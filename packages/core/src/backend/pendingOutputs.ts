import { elementAt } from "@centella/quant/checks";
import type { TypedArray } from "../dtype.ts";
import type { ConcreteSpec } from "../spec.ts";
import { checkData, Tensor, type TensorStorage } from "../tensor.ts";

/** What differs from a tensor in host memory. */
interface PendingTensorOptions {
  /** Where the tensor says that it is. Default "host". */
  readonly device?: string;
  readonly onFree?: () => void;
}

/** Results of a run that is over, in stored form and by index. */
export interface HostResults {
  /** A new array, which the caller owns. */
  read(index: number): TypedArray;
  /** Copies a result to `target`, which has its size. */
  readInto(index: number, target: TypedArray): void;
  /** An array with the result. The caller must not change it. */
  peek(index: number): TypedArray;
  /** Ends the use of a result, which is not asked for again. */
  free(index: number): void;
}

/** The results of a run; frees all `count` of them and rejects with the signal's reason if the run was aborted meanwhile. */
export function unlessAborted(results: Promise<HostResults>, signal: AbortSignal | undefined, count: number): Promise<HostResults> {
  if (signal === undefined) return results;
  return results.then((done) => {
    if (signal.aborted) for (let i = 0; i < count; i++) done.free(i);
    signal.throwIfAborted();
    return done;
  });
}

/** Results in arrays of their own. */
export class HostArrays implements HostResults {
  readonly #arrays: readonly TypedArray[];
  readonly #copy: (array: TypedArray) => TypedArray;

  /** `copy` makes the arrays that readers own. */
  constructor(arrays: readonly TypedArray[], copy: (array: TypedArray) => TypedArray = (array) => array.slice()) {
    this.#arrays = arrays;
    this.#copy = copy;
  }

  read(index: number): TypedArray {
    return this.#copy(this.peek(index));
  }

  readInto(index: number, target: TypedArray): void {
    target.set(this.peek(index));
  }

  peek(index: number): TypedArray {
    return elementAt(this.#arrays, index);
  }

  free(): void {}
}

/** Results that a run is still to compute and to bring to host memory. */
export class PendingOutputs {
  readonly promise: Promise<HostResults>;
  /** Undefined until the run is over. */
  results: HostResults | undefined;

  constructor(promise: Promise<HostResults>) {
    this.promise = promise;
    promise.then(
      (results) => {
        this.results = results;
      },
      // A failure reaches the readers of the outputs, if there are any.
      () => undefined,
    );
  }

  /** A tensor of one of the results. */
  tensor(spec: ConcreteSpec, index: number, options: PendingTensorOptions = {}): Tensor {
    return new Tensor(spec, new PendingStorage(this, spec, index, options));
  }

  /** Tensors of all outputs of a run, by name. Those without a storage on the device are the results, in order. */
  tensors(
    outputs: readonly { readonly name: string; readonly spec: ConcreteSpec }[],
    onDevice?: ReadonlyMap<string, TensorStorage>,
  ): Record<string, Tensor> {
    const tensors: Record<string, Tensor> = {};
    let results = 0;
    for (const { name, spec } of outputs) {
      const storage = onDevice?.get(name);
      tensors[name] = storage === undefined ? this.tensor(spec, results++) : new Tensor(spec, storage);
    }
    return tensors;
  }
}

class PendingStorage implements TensorStorage {
  readonly device: string;
  readonly #outputs: PendingOutputs;
  readonly #spec: ConcreteSpec;
  readonly #index: number;
  readonly #onFree: (() => void) | undefined;

  constructor(outputs: PendingOutputs, spec: ConcreteSpec, index: number, { device = "host", onFree }: PendingTensorOptions) {
    this.device = device;
    this.#outputs = outputs;
    this.#spec = spec;
    this.#index = index;
    this.#onFree = onFree;
  }

  async ready(): Promise<void> {
    await this.#outputs.promise;
  }

  read(): Promise<TypedArray> {
    return this.#outputs.promise.then((results) => results.read(this.#index));
  }

  readInto(target: TypedArray): Promise<void> {
    return this.#outputs.promise.then((results) => {
      // It may have been transferred or resized meanwhile.
      checkData("readInto", this.#spec, target);
      results.readInto(this.#index, target);
    });
  }

  peek(): TypedArray | undefined {
    return this.#outputs.results?.peek(this.#index);
  }

  free(): void {
    this.#onFree?.();
    // Readers that wait are served first.
    this.#outputs.promise.then(
      (results) => results.free(this.#index),
      () => undefined,
    );
  }
}
