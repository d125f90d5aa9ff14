import { product } from "@centella/gpu-kernels";
import { blockReducer } from "../ptx/reduce.ts";
import type { F32, U32 } from "../ptx/types.ts";
import { type Argument, bucketElements, defaultThreads, input, type Kernel, launch, output } from "./shared/kernel.ts";
import { sharersOf } from "./shared/reduction.ts";

/** Where vectors are long, blocks share them, and another launch adds up what they found. */
export const dot: Kernel = {
  launches: (call) => {
    const { shape } = call.inputs[0]!;
    const sharers = sharersOf(1, bucketElements(call, shape));
    const parts: Argument = { kind: "scratch", bytes: 4 * sharers };
    const terms = launch(
      call,
      sharers === 1 ? "dot" : "dot_share",
      { blocks: sharers, args: { a: input(0), b: input(1), y: sharers === 1 ? output : parts } },
      ({ k, pointer, extents }) => {
        const [a, b] = [pointer("a", "f32"), pointer("b", "f32")];
        const sum = k.variable("f32", 0);
        const term = (i: U32): void => sum.accumulate(k.load("f32", k.at("f32", a, i)), k.load("f32", k.at("f32", b, i)));
        const first = k.mad(k.block(), defaultThreads, k.thread());
        k.for(first, product(k, extents(shape)), sharers * defaultThreads, term);
        const all = blockReducer(k)(sum.get(), (p: F32, q: F32) => k.add(p, q));
        k.if(k.compare("eq", k.thread(), 0), () => k.store("f32", k.at("f32", pointer("y", "f32"), k.block()), all));
      },
    );
    if (sharers === 1) return [terms];
    const join = launch(call, "dot_join", { blocks: 1, args: { parts, y: output } }, ({ k, pointer }) => {
      const sum = k.variable("f32", 0);
      const from = pointer("parts", "f32");
      k.for(k.thread(), sharers, defaultThreads, (i) => sum.set(k.add(sum.get(), k.load("f32", k.at("f32", from, i)))));
      const all = blockReducer(k)(sum.get(), (p: F32, q: F32) => k.add(p, q));
      k.if(k.compare("eq", k.thread(), 0), () => k.store("f32", pointer("y", "f32"), all));
    });
    return [terms, join];
  },
};
