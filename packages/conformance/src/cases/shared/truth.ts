import { bool, f32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of whether all or any of some bools are true. `differs`, 0 or 1, is the one that decides. */
export function truthCases(differs: 0 | 1): readonly SharedCase<{ readonly axis?: number; readonly keepDims?: boolean }>[] {
  const usual = 1 - differs;
  return [
    {
      name: "one differs",
      inputs: [
        bool(
          [37],
          Array.from({ length: 37 }, (_, i) => (i === 36 ? differs : usual)),
        ),
      ],
    },
    { name: "last axis", inputs: [tensor("bool", 67, 3)], params: { axis: -1 } },
    { name: "first axis", inputs: [tensor("bool", 3, 67)], params: { axis: 0 } },
    { name: "middle axis, kept", inputs: [tensor("bool", 5, 2, 7)], params: { axis: 1, keepDims: true } },
    {
      name: "the last of a row that groups share differs",
      inputs: [
        bool(
          [2, 20_003],
          Array.from({ length: 40_006 }, (_, i) => (i === 20_002 ? differs : usual)),
        ),
      ],
      params: { axis: 1 },
    },
    {
      name: "two of the columns that groups share differ",
      inputs: [
        bool(
          [1281, 16],
          Array.from({ length: 1281 * 16 }, (_, i) => (i === 5 || i === 1281 * 16 - 1 ? differs : usual)),
        ),
      ],
      params: { axis: 0 },
    },
    { name: "scalar", inputs: [bool([], [1])] },
    { name: "nothing", inputs: [tensor("bool", 0)] },
    { name: "empty axis", inputs: [tensor("bool", 3, 0)], params: { axis: 1 } },
    { name: "empty beside the axis", inputs: [tensor("bool", 0, 3)], params: { axis: 1 } },
    { name: "bytes above 1 are true", inputs: [bool([2, 2], [2, 255, 0, 128])], params: { axis: 1 } },
  ];
}

/** What both refuse. */
export function truthMistakes(op: "all" | "any"): readonly WrongCase[] {
  return [
    { name: "f32", inputs: [f32(2)], error: "DTypeError", message: new RegExp(`${op}: expected x in bool, got f32 \\[2\\]; cast it`) },
    { name: "axis", inputs: [tensor("bool", 2)], params: { axis: 1 }, error: "ArgumentError", message: /from -1 to 0, got 1/ },
    { name: "axis of a scalar", inputs: [tensor("bool")], params: { axis: 0 }, error: "ShapeError", message: /rank 1 or more/ },
    {
      name: "keepDims",
      inputs: [tensor("bool", 2)],
      params: { keepDims: 1 },
      error: "ArgumentError",
      message: /keepDims to be true or false, got 1/,
    },
  ];
}
