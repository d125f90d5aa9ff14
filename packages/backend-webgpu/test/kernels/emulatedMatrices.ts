import type { MatrixFunctions, MatrixUnit } from "../../src/kernels/matrices/matrixUnit.ts";

const size = 16;

/** Lanes that stand in for a subgroup. */
const lanes = 32;

/** Results of a lane: half of a row of the matrix. */
const perLane = (size * size) / lanes;

/** Matrices of floats in workgroup memory: what subgroups compute where devices have the feature, for devices without it. */
const functions: MatrixFunctions = {
  element: "f32",
  bytes: 4,
  declarations: [
    `alias Sums = array<f32, ${perLane}>;
fn multiplied(lane: u32, left: vec2u, right: vec2u, before: Sums) -> Sums {
  var sums = before;
  let row = lane % ${lanes}u / 2u;
  for (var n = 0u; n < ${perLane}u; n++) {
    let column = lane % 2u * ${perLane}u + n;
    for (var k = 0u; k < ${size}u; k++) {
      sums[n] += leftTile[left.x + row * left.y + k] * rightTile[right.x + column * right.y + k];
    }
  }
  return sums;
}
fn storeMatrix(lane: u32, at: u32, sums: Sums) {
  var own = sums;
  for (var n = 0u; n < ${perLane}u; n++) { results[at + lane % ${lanes}u * ${perLane}u + n] = own[n]; }
}`,
  ],
  zeros: "Sums()",
  load: (_side, at, stride) => `vec2u(${at}, ${stride}u)`,
  multiply: (left, right, sums) => `multiplied(lane, ${left}, ${right}, ${sums})`,
  store: (at, sums) => `storeMatrix(lane, ${at}, ${sums});`,
};

export const emulatedUnit: MatrixUnit = {
  shape: { type: "f16", resultType: "f32", m: size, n: size, k: size },
  subgroup: lanes,
  functions,
};
