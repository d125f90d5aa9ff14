import type { OpName, ParamsOf } from "@centella/core";

import type { Expression } from "../expression.ts";

/** Expressions by op. */
export type ExpressionTable = { readonly [N in OpName]?: Expression<ParamsOf<N>> };
