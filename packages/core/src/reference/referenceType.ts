import type { OpName, Ops } from "../ops/index.ts";

/** The scalar definition of an op. See `AnyOp.reference`. */
export type Reference<N extends OpName> = NonNullable<Ops[N]["reference"]>;
