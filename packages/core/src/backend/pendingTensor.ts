import type { TypedArray } from "../dtype.ts";
import type { ConcreteSpec } from "../spec.ts";
import { Tensor } from "../tensor.ts";

/** What differs from a tensor in host memory. */
interface PendingTensorOptions {
  /** Where the tensor says that it is. Default "host". */
  readonly device?: string;
  readonly onFree?: () => void;
}

/** Returns a tensor whose content a run is still to compute and to bring to host memory, in stored form. */
export function pendingTensor(
  spec: ConcreteSpec,
  content: Promise<TypedArray>,
  { device = "host", onFree = () => undefined }: PendingTensorOptions = {},
): Tensor {
  let arrived: TypedArray | undefined;
  content.then(
    (data) => {
      arrived = data;
    },
    () => undefined,
  );
  return new Tensor(spec, {
    device,
    ready: async () => void (await content),
    read: async () => (await content).slice(),
    peek: () => arrived,
    free: onFree,
  });
}
