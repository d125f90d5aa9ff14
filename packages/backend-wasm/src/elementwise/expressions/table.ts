import type { OpName } from "@centella/core";
import type { ParamsOf } from "../../kernel.ts";
import type { Expression } from "../expression.ts";

/** Expressions by op. */
export type ExpressionTable = { readonly [N in OpName]?: Expression<ParamsOf<N>> };
