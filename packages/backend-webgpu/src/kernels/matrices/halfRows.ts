import type { TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import { unitWeights } from "@centella/gpu-kernels";
import type { ActivationType } from "@centella/quant";
import { defineDispatch } from "../../wgsl/module.ts";
import { workgroupReduce } from "../../wgsl/workgroupReduce.ts";
import type { Binding, Dispatch } from "../shared/kernel.ts";
import { quadIndex } from "../shared/roundedUnits.ts";
import { count, maximum, range } from "../shared/shape.ts";

/** Halves of a vec4u. */
export const halvesPerQuad = 8;

/** Bytes of the rows of `a` as halves. After the halves of a row comes a quad with the factor that its results are multiplied by. */
export function halfBytes({ shape }: TensorSpec): number {
  const depth = maximum(shape.at(-1) ?? 0);
  return (elementCount(shape.map(maximum)) / depth) * 16 * (depth / halvesPerQuad + 1);
}

/** The factor of results of row `row` of a binding of {@link halfRowsDispatch}. */
export function factorText(name: string, row: string): string {
  return `bitcast<f32>(${name}[${row} * (p.k / ${halvesPerQuad}u + 1u) + p.k / ${halvesPerQuad}u].x)`;
}

const lanes = 256;

/** Rows in memory, and what they are rounded to if they are units. */
interface StoredRows {
  readonly binding: Binding;
  readonly units: ActivationType | undefined;
}

/** Rounds rows to halves, in runs of at least `least` rows. Rows with larger elements than halves have are scaled by a power of two. */
export function halfRowsDispatch(
  a: TensorSpec,
  { binding, units }: StoredRows,
  y: Binding,
  { least, subgroup }: { readonly least: number; readonly subgroup: number },
): Dispatch {
  const depth = maximum(a.shape.at(-1) ?? 0);
  const quads = depth / halvesPerQuad;
  const parts = range(Math.ceil(quads / lanes));
  const rowStart = `group * ${quads + 1}u`;
  return defineDispatch({
    bindings: [
      { ...binding, name: "a", element: units === undefined ? "vec4f" : "vec4u" },
      { ...y, name: "y", access: "read_write", element: "vec4u" },
    ],
    uniforms: { k: "u32" },
    lanes,
    declarations: [
      workgroupReduce("largest", "max", lanes, subgroup),
      units === undefined ? eightOfFloats : eightOfUnits(units),
      largestOfEight,
    ],
    body: [
      // Lanes beyond the last element read it again and store nothing.
      ...parts.map((n) => `let eight${n} = eightAt(group, min(lane + ${n * lanes}u, ${quads - 1}u));`),
      `let most = largest(lane, ${parts.map((n) => `largestOf(eight${n})`).reduce((x, y) => `max(${x}, ${y})`)});`,
      // Exponents above 14 leave no room for rounding.
      "let above = max(0, i32(bitcast<u32>(most) >> 23u) - 127 - 14);",
      "let factor = bitcast<f32>(u32(127 - above) << 23u);",
      ...parts.map(
        (n) => `if (lane + ${n * lanes}u < ${quads}u) { y[${rowStart} + lane + ${n * lanes}u] = halvesOf(eight${n} * factor); }`,
      ),
      `if (lane == 0u) { y[${rowStart} + ${quads}u] = vec4u(u32(127 + above) << 23u); }`,
    ].join("\n"),
    sizeIn(dims) {
      const rows = count(a.shape, dims) / depth;
      return { groups: rows < least ? 0 : rows, values: { k: depth } };
    },
  });
}

const largestOfEight = `fn largestOf(x: mat2x4f) -> f32 {
  let high = max(abs(x[0]), abs(x[1]));
  return max(max(high.x, high.y), max(high.z, high.w));
}
fn halvesOf(x: mat2x4f) -> vec4u {
  return vec4u(pack2x16float(x[0].xy), pack2x16float(x[0].zw), pack2x16float(x[1].xy), pack2x16float(x[1].zw));
}`;

/** `fn eightAt(row: u32, i: u32) -> mat2x4f`: elements 8 i to 8 i + 7 of a row. */
const eightOfFloats = "fn eightAt(row: u32, i: u32) -> mat2x4f { let at = row * (p.k / 4u) + 2u * i; return mat2x4f(a[at], a[at + 1u]); }";

const eightOfUnits = (type: ActivationType): string => `fn eightAt(row: u32, i: u32) -> mat2x4f {
  let units = p.k / ${unitWeights}u;
  let unit = i / 4u;
  let codes = a[${quadIndex(type, "row", "units", "unit", 0)} + (i / 2u % 2u) * units];
  let pair = select(codes.xy, codes.zw, i % 2u == 1u);
  let step = bitcast<f32>(a[${quadIndex(type, "row", "units", "unit", 2)}].x);
  return mat2x4f(step * vec4f(unpack4xI8(pair.x)), step * vec4f(unpack4xI8(pair.y)));
}`;
