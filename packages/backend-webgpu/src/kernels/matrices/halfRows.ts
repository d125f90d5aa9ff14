import type { TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import { type F32, roundedBy } from "@centella/gpu-kernels";
import type { ActivationType } from "@centella/quant";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { defineDispatch } from "../../wgsl/module.ts";
import { workgroupReduce } from "../../wgsl/workgroupReduce.ts";
import type { Binding, Dispatch } from "../shared/kernel.ts";
import { partScales, storedValues } from "../shared/roundedUnits.ts";
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

/** Rows of floats, and the blocks that they are rounded to first; undefined for none. */
interface FloatRows {
  readonly binding: Binding;
  readonly blocks: ActivationType | undefined;
}

/**
 * Rounds rows to halves, to blocks before that where there are any, in runs of at least `least` rows. Rows with larger elements than halves
 * have are scaled by a power of two.
 */
export function halfRowsDispatch(
  a: TensorSpec,
  { binding, blocks }: FloatRows,
  y: Binding,
  { least, subgroup }: { readonly least: number; readonly subgroup: number },
): Dispatch {
  const depth = maximum(a.shape.at(-1) ?? 0);
  const quads = depth / halvesPerQuad;
  const parts = range(Math.ceil(quads / lanes));
  const rowStart = `group * ${quads + 1}u`;
  const k = new WgslEmitter({}, lanes, { subgroup });
  // Lanes beyond the last element read it again and store nothing: those of whole blocks.
  for (const n of parts)
    k.lines.push(`let eight${n} = mat2x4f(${partOf(k, `min(lane + ${n * lanes}u, ${quads - 1}u)`, blocks).join(", ")});`);
  return defineDispatch({
    bindings: [
      { ...binding, name: "a", element: "vec4f" },
      { ...y, name: "y", access: "read_write", element: "vec4u" },
    ],
    uniforms: { k: "u32" },
    lanes,
    declarations: [...k.declarations, workgroupReduce("largest", "max", lanes, subgroup), largestOfEight],
    body: [
      ...k.lines,
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

/** Eight elements of the workgroup's row, of which `eight`, an expression, counts those before them. */
function partOf(k: WgslEmitter, eight: string, blocks: ActivationType | undefined): readonly F32[] {
  const first = k.define("u32", `${eight} * ${halvesPerQuad}u`);
  const elements = storedValues(k, "a")(k.define("u32", `group * p.k + ${first}`));
  if (blocks === undefined) return elements;
  const scales = partScales(k, blocks, first, elements);
  return elements.map((value) => roundedBy(k, blocks, value, scales));
}

const largestOfEight = `fn largestOf(x: mat2x4f) -> f32 {
  let high = max(abs(x[0]), abs(x[1]));
  return max(max(high.x, high.y), max(high.z, high.w));
}
fn halvesOf(x: mat2x4f) -> vec4u {
  return vec4u(pack2x16float(x[0].xy), pack2x16float(x[0].zw), pack2x16float(x[1].xy), pack2x16float(x[1].zw));
}`;
