import { blockReducer } from "../ptx/reduce.ts";
import type { F32 } from "../ptx/types.ts";
import { input, type Kernel, output } from "./shared/kernel.ts";
import { foldRow, perRow } from "./shared/rows.ts";

export const dot: Kernel = {
  launches: (call) => [
    perRow(call, "dot", { x: call.inputs[0]!, axis: undefined, args: { a: input(0), b: input(1), y: output } }, (scope, { length }) => {
      const { k, pointer } = scope;
      const [a, b] = [pointer("a", "f32"), pointer("b", "f32")];
      const add = (p: F32, q: F32): F32 => k.add(p, q);
      const term = (i: Parameters<Parameters<typeof foldRow>[3]>[0]): F32 =>
        k.mul(k.load("f32", k.at("f32", a, i)), k.load("f32", k.at("f32", b, i)));
      const all = blockReducer(k)(foldRow(scope, length, 0, term, add), add);
      k.if(k.compare("eq", k.thread(), 0), () => k.store("f32", pointer("y", "f32"), all));
    }),
  ],
};
