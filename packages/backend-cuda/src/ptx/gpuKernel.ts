import { layoutOf } from "@centella/core/backend";
import {
  type Extent,
  type GpuKernel,
  type GpuStep,
  groupCount,
  groupExtent,
  isBelow,
  type NumberType,
  neighbourCount,
  product,
  type U32,
  type Value,
} from "@centella/gpu-kernels";
import { named } from "@centella/quant/checks";
import {
  argumentsOf,
  bucketElements,
  defaultThreads,
  type Kernel,
  type KernelCall,
  type Launch,
  launch,
  type Scope,
} from "../kernels/shared/kernel.ts";
import type { TextForm } from "../kernels/shared/texts.ts";

/** Returns the CUDA form of a shared kernel. `name` is the op's. */
export function kernelFrom<P extends object>(name: string, { unsupported, steps, epilogue, prologue }: GpuKernel<P>): Kernel<P> {
  return {
    ...(epilogue && { epilogue }),
    ...(prologue && { prologue }),
    ...(unsupported && { unsupported }),
    launches(call, params) {
      let readsBucket = false;
      const watched = {
        ...call,
        get bucket() {
          readsBucket = true;
          return call.bucket;
        },
      };
      const all = steps(watched, params);
      return all.map((step, number) => launchOf(call, name, step, readsBucket ? undefined : [number]));
    },
  };
}

/**
 * The launch of a step; `op` names it. `own` tells it apart from other steps of the call, if its body does not depend on the bucket: its text is shared
 * by the buckets then.
 */
export function launchOf(call: KernelCall, op: string, step: GpuStep, own?: TextForm): Launch {
  const args = argumentsOf(call, step.args);
  const entry = step.name === "" ? op : `${op}_${step.name}`;
  if (step.kind === "groups") {
    const blocks = groupCount(step.shape, (dim) => bucketElements(call, [dim]));
    return launch(call, entry, { threads: step.lanes ?? defaultThreads, blocks, args, ...(own && { form: own }) }, (scope) => {
      const { k } = scope;
      if (step.hasManyValues === true) k.blocksPerMultiprocessor = 2;
      const block = k.block();
      const groups = product(
        k,
        step.shape.map((axis) => groupExtent(scope, axis)),
      );
      k.ifUniform(isBelow(k, block, groups), () => step.body(scope, block));
    });
  }
  const elements = bucketElements(call, step.shape);
  if (step.kind === "each" || step.kind === "pieces") {
    // Few lanes are spread over the multiprocessors.
    const threads = elements < call.gpu.multiprocessors * defaultThreads ? fewThreads : defaultThreads;
    return launch(call, entry, { threads, blocks: Math.ceil(elements / threads), args, ...(own && { form: own }) }, (scope) => {
      const { k } = scope;
      const index = k.mad(k.block(), threads, k.thread());
      k.if(isBelow(k, index, product(k, scope.extents(step.shape))), () => {
        if (step.kind === "each") {
          step.body(scope, index);
          return;
        }
        const { at, words } = step.body(scope, index);
        k.storePiece(step.to, at, words);
      });
    });
  }
  const perWord = 4 / layoutOf(named(step.args, step.to).dtype).bytes;
  const isLarge = elements >= call.gpu.multiprocessors * threadsPerMultiprocessor;
  const perThread = step.isElementwise === true && isLarge ? neighbourCount : perWord;
  const blocks = Math.ceil(elements / perThread / defaultThreads);
  return launch(call, entry, { blocks, args, ...(own && { form: [...own, perThread] }) }, (scope) => {
    const { k } = scope;
    const count = product(k, scope.extents(step.shape));
    const thread = k.mad(k.block(), defaultThreads, k.thread());
    if (perThread === perWord) {
      storeWord(scope, step, count, thread);
      return;
    }
    const first = k.mul(thread, neighbourCount);
    const words = neighbourCount / perWord;
    const firstWord = k.mul(thread, words);
    k.if(
      k.compare("le", k.add(first, neighbourCount), count),
      () => {
        const values: Value<NumberType>[] = [];
        k.neighbours([first], ([index = first]) => values.push(step.body(scope, index)));
        k.storeWords(step.to, firstWord, packed(k, values, perWord));
      },
      () => k.for(0, words, 1, (word) => storeWord(scope, step, count, k.add(firstWord, word))),
    );
  });
}

/** Threads of a block of a small launch. */
const fewThreads = 64;

/** Threads that a multiprocessor holds. With fewer elements than threads, several per thread would leave some idle. */
const threadsPerMultiprocessor = 2048;

type MapStep = Extract<GpuStep, { readonly kind: "map" }>;

/** Computes and stores the elements of a word, those below `count`: elements of less than 32 bits share one. */
function storeWord(scope: Scope, { to, args, body }: MapStep, count: Extent, word: U32): void {
  const { k } = scope;
  const { bytes } = layoutOf(named(args, to).dtype);
  const perWord = 4 / bytes;
  if (perWord === 1) {
    k.if(isBelow(k, word, count), () => k.store(to, word, body(scope, word)));
    return;
  }
  const first = k.mul(word, perWord);
  k.if(isBelow(k, first, count), () => {
    const bits = k.variable("u32", 0);
    k.for(0, perWord, 1, (part) => {
      const index = k.add(first, part);
      k.if(isBelow(k, index, count), () => {
        const own = k.and(k.bitcast("u32", body(scope, index)), 2 ** (8 * bytes) - 1);
        bits.set(k.or(bits.get(), k.shiftLeft(own, k.mul(part, 8 * bytes))));
      });
    });
    k.store(to, word, bits.get());
  });
}

/** Elements as words of `perWord` each. */
function packed(k: Scope["k"], values: readonly Value<NumberType>[], perWord: number): readonly U32[] {
  const bits = values.map((value) => k.bitcast("u32", value));
  const width = 32 / perWord;
  return Array.from({ length: values.length / perWord }, (_, word) =>
    bits
      .slice(word * perWord, (word + 1) * perWord)
      .map((own, i) => (perWord === 1 ? own : k.shiftLeft(k.and(own, 2 ** width - 1), i * width)))
      .reduce((all, own) => k.or(all, own)),
  );
}
