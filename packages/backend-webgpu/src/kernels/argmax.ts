import type { ArgmaxParams } from "@centella/core";
import type { KernelDefinition } from "../kernel.ts";
import { orderKeys, rowLanes, specials, workgroupReduce } from "../wgsl.ts";
import { eachOfRow, perRow } from "./shared/reduce.ts";

export const argmax: KernelDefinition<ArgmaxParams> = {
  build({ inputs: [x], params: { axis } }) {
    return [
      perRow("argmax", x!, axis, "i32", {
        // Pairs of key and index: the larger key, then the smaller index. A real key is never 0.
        declarations: `${specials}\n${orderKeys}\n${workgroupReduce("best", "vec2u", rowLanes, "select(b, a, a.x > b.x || (a.x == b.x && a.y < b.y))")}`,
        body: `var pair = vec2u(0u, 0u);\n${eachOfRow("let key = keyOf(value); if (key > pair.x) { pair = vec2u(key, i); }")}\npair = best(lane, pair);\nif (lane == 0u) { y[group] = i32(pair.y); }`,
      }),
    ];
  },
};
