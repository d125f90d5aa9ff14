import { type Dim, layoutOf } from "@centella/core";
import {
  type Extent,
  type F32,
  type GpuArgument,
  type GpuKernel,
  type GpuScope,
  type GpuStep,
  isBelow,
  mostElements,
  product,
  type U32,
} from "@centella/gpu-kernels";
import {
  type Argument,
  bucketElements,
  defaultThreads,
  input,
  type Kernel,
  type KernelCall,
  type Launch,
  launch,
  output,
  type Scope,
} from "../kernels/shared/kernel.ts";
import type * as ptx from "../ptx/types.ts";
import { PtxEmitter } from "./emitter.ts";

/** A kernel that is spelled once for all GPUs, as one of this backend's. `name` is the op's. */
export function kernelFrom<P extends object>(name: string, { unsupported, steps, element }: GpuKernel<P>): Kernel<P> {
  return {
    ...(unsupported === undefined ? {} : { unsupported: (inputs, params, y) => unsupported({ inputs, output: y }, params) }),
    launches: (call, params) => steps({ inputs: call.inputs, output: call.output }, params).map((step) => launchOf(call, name, step)),
    ...(element === undefined
      ? {}
      : {
          element: (k, inputs, params) => {
            const parameter = (key: string): F32 =>
              k.constant("f32", Number((params as Readonly<Record<string, unknown>>)[key])) as string as F32;
            return element.of(new PtxEmitter(k), inputs as readonly string[] as readonly F32[], parameter) as string as ptx.F32;
          },
        }),
  };
}

function launchOf(call: KernelCall, op: string, step: GpuStep): Launch {
  const args = Object.fromEntries(Object.entries(step.args).map(([name, argument]) => [name, argumentOf(argument)]));
  const dtypes = Object.fromEntries(Object.entries(step.args).map(([name, { dtype }]) => [name, dtype]));
  const entry = step.name === "" ? op : `${op}_${step.name}`;
  const elements = bucketElements(call, step.shape);
  if (step.kind === "groups") {
    return launch(call, entry, { threads: step.lanes, blocks: elements, args }, (scope) => {
      const { k } = scope;
      const block = k.block();
      k.ifUniform(isBelow(k, block, product(k, scope.extents(step.shape))), () =>
        step.body(scopeOf(scope, new PtxEmitter(k, dtypes)), block as string as U32),
      );
    });
  }
  const bytes = step.kind === "map" ? layoutOf(step.args[step.to]!.dtype).bytes : 4;
  const perWord = 4 / bytes;
  const blocks = Math.ceil(elements / perWord / defaultThreads);
  return launch(call, entry, { blocks, args }, (scope) => {
    const { k } = scope;
    const emitter = new PtxEmitter(k, dtypes);
    const count = product(k, scope.extents(step.shape));
    const word = k.mad(k.block(), defaultThreads, k.thread());
    if (step.kind === "each") {
      k.if(isBelow(k, word, count), () => step.body(scopeOf(scope, emitter), word as string as U32));
      return;
    }
    const store = (bits: ptx.U32): void => k.store("u32", k.at("u32", k.pointer(step.to, "u32"), word), bits);
    const bitsAt = (index: ptx.U32): ptx.U32 => step.body(scopeOf(scope, emitter), index as string as U32) as string as ptx.U32;
    if (perWord === 1) {
      k.if(isBelow(k, word, count), () => store(bitsAt(word)));
      return;
    }
    // A thread writes a whole word: elements of less than 32 bits share one.
    const first = k.mul(word, perWord);
    k.if(isBelow(k, first, count), () => {
      const packed = k.variable("u32", 0);
      k.for(0, perWord, 1, (part) => {
        const index = k.add(first, part);
        k.if(isBelow(k, index, count), () => {
          const bits = k.and(bitsAt(index), 2 ** (8 * bytes) - 1);
          packed.set(k.or(packed.get(), k.shiftLeft(bits, k.mul(part, 8 * bytes))));
        });
      });
      store(packed.get());
    });
  });
}

function scopeOf({ k, extent, extents }: Scope, emitter: PtxEmitter): GpuScope {
  return {
    k: emitter,
    extent: (dim: Dim) => extent(dim) as Extent,
    extents: (shape) => extents(shape) as readonly Extent[],
    number: (value) => k.constant("f32", value) as string as F32,
    whole: (value) => value,
  };
}

function argumentOf(argument: GpuArgument): Argument {
  switch (argument.kind) {
    case "input":
      return input(argument.index);
    case "output":
      return output;
    case "scratch":
      return { kind: "scratch", bytes: 4 * mostElements(argument.elements) };
  }
}
