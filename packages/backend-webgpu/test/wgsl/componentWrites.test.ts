import { expect, test } from "vitest";
import { componentWrites } from "./componentWrites.ts";

const memory = `
  var<workgroup> flat: array<vec4f, 8>;
  var<workgroup> nested: array<array<vec4f, 8>, 4>;
  var<workgroup> fours: array<array<f32, 4>, 8>;
  @group(0) @binding(0) var<storage, read_write> y: array<vec4u>;`;

test.each([
  "flat[lane / 4u][lane & 3u] = 1.0;",
  "flat[i].x = 1.0;",
  "flat[i].y += 1.0;",
  "nested[k][row / 4u][row % 4u] = value.x;",
  "y[indexOf(a[i], b)].w = 1u;",
])("finds %s", (statement) => {
  expect(componentWrites(`${memory} fn main() { if (lane < 4u) { ${statement} } }`)).toEqual([statement]);
});

test("whole vectors, single floats and what is read are no finding", () => {
  const body = `
    flat[i] = vec4f(); nested[k][i] = flat[places[i]]; fours[i][j] = flat[i].x; y[i + 1u] = y[i];
    var own = vec4f(); own.x = flat[i][j]; let isOne = flat[i].x == 1.0; if (flat[i][0] >= 1.0) { own.y = 2.0; }`;
  expect(componentWrites(`${memory} fn main() { ${body} }`)).toEqual([]);
});
