import type { SoftmaxParams } from "@centella/core";
import type { KernelDefinition } from "../../kernel.ts";
import { orderKeys, rowLanes, specials, workgroupReduce } from "../../wgsl.ts";
import { eachOfRow, perRow } from "./reduce.ts";

/** Rows whose largest value is not finite are NaN throughout; `-Infinity` in another row is written out, not computed. */
export function softmaxLike(op: "softmax" | "logSoftmax"): KernelDefinition<SoftmaxParams> {
  const weight = "select(exp(value - m), 0.0, isNegativeInfinity(value))";
  const result = op === "softmax" ? `${weight} / sum` : "select(value - m - log(sum), value, isNegativeInfinity(value))";
  return {
    finishes: true,
    reads: "again",
    build({ inputs: [x], params: { axis }, finish, prologue }) {
      return [
        perRow(op, x!, axis, "f32", {
          finish,
          prologue,
          declarations: [
            specials,
            orderKeys,
            workgroupReduce("largest", "u32", rowLanes, "max(a, b)"),
            workgroupReduce("addUp", "f32", rowLanes, "a + b"),
          ].join("\n"),
          body: [
            "var key = 0u;",
            eachOfRow("key = max(key, keyOf(value));"),
            "let m = ofKey(largest(lane, key));",
            "let isFinite = !isNan(m) && !isInfinite(m);",
            "var share = 0.0;",
            `if (isFinite) { ${eachOfRow(`share += ${weight};`, "again")} }`,
            "let sum = addUp(lane, share);",
            eachOfRow(`if (isFinite) { store(at + i * p.inner, ${result}); } else { store(at + i * p.inner, nan()); }`, "again"),
          ].join("\n"),
        }),
      ];
    },
  };
}
