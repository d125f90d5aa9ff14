import { moeRouteGoldens } from "../goldens/moeRoute.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

const nan = Number.NaN;

export const moeRoute: OpCases<"moeRoute"> = {
  tolerance: { i32: exact },
  cases: [
    ...moeRouteGoldens,
    { name: "many experts", inputs: [f32(5, 130)], params: { k: 8 } },
    { name: "one token", inputs: [f32(1, 32)], params: { k: 4, gating: "softmaxOfChosen" } },
    { name: "every expert", inputs: [f32(2, 3)], params: { k: 3, gating: "sigmoid" } },
    { name: "groups", inputs: [f32(4, 64)], optional: { bias: f32(64) }, params: { k: 6, gating: "sigmoid", groups: 8, topKGroups: 3 } },
    { name: "ties", inputs: [{ dtype: "f32", shape: [1, 6], values: [2, 1, 2, 1, 2, 1] }], params: { k: 4, gating: "softmaxOfChosen" } },
    { name: "NaN", inputs: [{ dtype: "f32", shape: [1, 4], values: [nan, 1, nan, 2] }], params: { k: 3, gating: "softmaxOfChosen" } },
    { name: "no tokens", inputs: [f32(0, 4)], params: { k: 2 } },
  ],
  wrong: [
    { name: "k", inputs: [f32(2, 3)], params: { k: 4 }, error: "ArgumentError", message: /moeRoute: expected k up to the 3 experts/ },
    { name: "no k", inputs: [f32(2, 3)], error: "ArgumentError", message: /option k, got none/ },
    {
      name: "more groups than there are",
      inputs: [f32(2, 8)],
      params: { k: 1, groups: 2, topKGroups: 3 },
      error: "ArgumentError",
      message: /topKGroups up to groups = 2, got 3/,
    },
    { name: "groups", inputs: [f32(2, 8)], params: { k: 1, groups: 3 }, error: "ShapeError", message: /E to be a multiple of 3 groups/ },
    {
      name: "gating",
      inputs: [f32(2, 8)],
      params: { k: 1, gating: "relu" },
      error: "ArgumentError",
      message: /gating to be "softmax" or "sigmoid" or "softmaxOfChosen", got "relu"/,
    },
    { name: "bias", inputs: [f32(2, 8)], optional: { bias: f32(2) }, params: { k: 1 }, error: "ShapeError", message: /bias \[8\]/ },
    { name: "i32", inputs: [tensor("i32", 2, 8)], params: { k: 1 }, error: "DTypeError", message: /logits in f32/ },
  ],
};
