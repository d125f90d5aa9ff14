import { elementAt } from "@centella/quant/checks";
import type { TypedArray } from "../dtype.ts";
import type { ConcreteSpec } from "../spec.ts";
import { Tensor, type TensorStorage } from "../tensor.ts";

/** What differs from a tensor in host memory. */
interface PendingTensorOptions {
  /** Where the tensor says that it is. Default "host". */
  readonly device?: string;
  readonly onFree?: () => void;
}

/** Arrays that a run is still to compute and to bring to host memory, in stored form. */
export class PendingOutputs {
  readonly promise: Promise<readonly TypedArray[]>;
  readonly copy: (array: TypedArray) => TypedArray;
  /** Undefined until the run is over. */
  arrays: readonly TypedArray[] | undefined;

  /** `copy` makes the arrays that readers own. */
  constructor(promise: Promise<readonly TypedArray[]>, copy: (array: TypedArray) => TypedArray = (array) => array.slice()) {
    this.promise = promise;
    this.copy = copy;
    promise.then(
      (arrays) => {
        this.arrays = arrays;
      },
      // A failure reaches the readers of the outputs, if there are any.
      () => undefined,
    );
  }

  /** A tensor of one of the arrays. */
  tensor(spec: ConcreteSpec, index: number, options: PendingTensorOptions = {}): Tensor {
    return new Tensor(spec, new PendingStorage(this, index, options));
  }
}

class PendingStorage implements TensorStorage {
  readonly device: string;
  readonly #outputs: PendingOutputs;
  readonly #index: number;
  readonly #onFree: (() => void) | undefined;

  constructor(outputs: PendingOutputs, index: number, { device = "host", onFree }: PendingTensorOptions) {
    this.device = device;
    this.#outputs = outputs;
    this.#index = index;
    this.#onFree = onFree;
  }

  async ready(): Promise<void> {
    await this.#outputs.promise;
  }

  read(): Promise<TypedArray> {
    return this.#outputs.promise.then((arrays) => this.#outputs.copy(elementAt(arrays, this.#index)));
  }

  peek(): TypedArray | undefined {
    return this.#outputs.arrays?.[this.#index];
  }

  free(): void {
    this.#onFree?.();
  }
}
