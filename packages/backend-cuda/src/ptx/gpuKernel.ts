import { layoutOf } from "@centella/core/backend";
import { type GpuKernel, type GpuStep, isBelow, product } from "@centella/gpu-kernels";
import { named } from "@centella/quant/checks";
import {
  argumentsOf,
  bucketElements,
  defaultThreads,
  type Kernel,
  type KernelCall,
  type Launch,
  launch,
} from "../kernels/shared/kernel.ts";

/** Returns the CUDA form of a shared kernel. `name` is the op's. */
export function kernelFrom<P extends object>(name: string, { unsupported, steps, epilogue, prologue }: GpuKernel<P>): Kernel<P> {
  return {
    ...(epilogue && { epilogue }),
    ...(prologue && { prologue }),
    ...(unsupported && { unsupported }),
    launches: (call, params) => steps(call, params).map((step) => launchOf(call, name, step)),
  };
}

/** The launch of a step; `op` names it. */
export function launchOf(call: KernelCall, op: string, step: GpuStep): Launch {
  const args = argumentsOf(call, step.args);
  const entry = step.name === "" ? op : `${op}_${step.name}`;
  const elements = bucketElements(call, step.shape);
  if (step.kind === "groups") {
    return launch(call, entry, { threads: step.lanes ?? defaultThreads, blocks: elements, args }, (scope) => {
      const { k } = scope;
      const block = k.block();
      k.ifUniform(isBelow(k, block, product(k, scope.extents(step.shape))), () => step.body(scope, block));
    });
  }
  const bytes = step.kind === "map" ? layoutOf(named(step.args, step.to).dtype).bytes : 4;
  const perWord = 4 / bytes;
  return launch(call, entry, { blocks: Math.ceil(elements / perWord / defaultThreads), args }, (scope) => {
    const { k } = scope;
    const count = product(k, scope.extents(step.shape));
    const word = k.mad(k.block(), defaultThreads, k.thread());
    if (step.kind === "each") {
      k.if(isBelow(k, word, count), () => step.body(scope, word));
      return;
    }
    if (perWord === 1) {
      k.if(isBelow(k, word, count), () => k.store(step.to, word, step.body(scope, word)));
      return;
    }
    // A thread writes a whole word: elements of less than 32 bits share one.
    const first = k.mul(word, perWord);
    k.if(isBelow(k, first, count), () => {
      const packed = k.variable("u32", 0);
      k.for(0, perWord, 1, (part) => {
        const index = k.add(first, part);
        k.if(isBelow(k, index, count), () => {
          const bits = k.and(k.bitcast("u32", step.body(scope, index)), 2 ** (8 * bytes) - 1);
          packed.set(k.or(packed.get(), k.shiftLeft(bits, k.mul(part, 8 * bytes))));
        });
      });
      k.store(step.to, word, packed.get());
    });
  });
}
