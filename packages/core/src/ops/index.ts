import { add } from "./add.ts";
import { matmul } from "./matmul.ts";
import { relu } from "./relu.ts";

/** Every op, by name. An op's name, its export and its file are spelled the same in every package. */
export interface Ops {
  readonly add: typeof add;
  readonly matmul: typeof matmul;
  readonly relu: typeof relu;
}

export const ops: Ops = { add, matmul, relu };

export type OpName = keyof Ops;
