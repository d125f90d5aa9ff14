import type { DimValues, DType } from "@centella/core";
import type { Binding, Dispatch, ElementType, Field, Resource } from "../kernels/shared/kernel.ts";

type FieldTypes = Readonly<Record<string, Field["type"]>>;

/**
 * Returns a dispatch from its parts. The body sees `group`, the flat index of the workgroup (uniform), `lane`, the index in
 * it, and `p`, the uniform block. Storage bindings are arrays of their element type.
 */
export function defineDispatch<F extends FieldTypes>(parts: {
  readonly bindings: readonly Binding[];
  readonly uniforms: F;
  readonly lanes: number;
  /** Functions and variables of the module, block by block; equal blocks are declared once. */
  readonly declarations?: readonly string[];
  readonly body: string;
  sizeIn(dims: DimValues): { readonly groups: number; readonly values: { readonly [K in keyof F]: number } };
}): Dispatch {
  const { bindings, lanes, body } = parts;
  const uniforms: Field[] = [
    { name: "groups", type: "u32" },
    ...Object.entries(parts.uniforms).map(([name, type]): Field => ({ name, type })),
  ];
  const text = [
    `struct Params { ${uniforms.map(({ name, type }) => `${name}: ${type}`).join(", ")} }`,
    ...bindings.map(({ name, access, element }, i) => `@group(0) @binding(${i}) var<storage, ${access}> ${name}: array<${element}>;`),
    `@group(0) @binding(${bindings.length}) var<uniform> p: Params;`,
    ...new Set(parts.declarations?.map(dedent)),
    `@compute @workgroup_size(${lanes})`,
    "fn main(@builtin(workgroup_id) place: vec3u, @builtin(num_workgroups) grid: vec3u, @builtin(local_invocation_index) lane: u32) {",
    "  let group = place.y * grid.x + place.x;",
    "  if (group >= p.groups) { return; }",
    indent(dedent(body)),
    "}",
    "",
  ].join("\n");
  const directives = [
    ...(/\bsubgroup[A-Z]/.test(text) ? [subgroupDirectives] : []),
    ...(/\bsubgroupMatrix/.test(text) ? [matrixDirectives] : []),
  ];
  const code = [...directives, text].join("\n");
  return {
    code,
    bindings,
    uniforms,
    sizeIn(dims) {
      const { groups, values } = parts.sizeIn(dims);
      return { groups, values: { ...values, groups } };
    },
  };
}

/** Directives of modules with subgroup operations. Kernels call them where all lanes of a subgroup do, which compilers cannot prove. */
const subgroupDirectives = "enable subgroups;\ndiagnostic(off, subgroup_uniformity);";

/** Directives of modules that multiply matrices of halves. */
const matrixDirectives =
  "enable f16;\nenable chromium_experimental_subgroup_matrix;\ndiagnostic(off, chromium.subgroup_matrix_uniformity);";

/** Returns a dispatch whose bindings of these names are bound to other resources. */
export function rebind(dispatch: Dispatch, resources: Readonly<Record<string, Resource>>): Dispatch {
  const bindings = dispatch.bindings.map((binding) => ({ ...binding, resource: resources[binding.name] ?? binding.resource }));
  return { ...dispatch, bindings };
}

/** A binding of input `index`, read as `element` (the {@link elementOf} its dtype). */
export function input(name: string, index: number, element: ElementType = "f32"): Binding {
  return { name, resource: { kind: "input", index }, access: "read", element };
}

/** The binding of the output, which is also the input that an op with `writes` updates. */
export function output(name: string, element: ElementType = "f32"): Binding {
  return { name, resource: { kind: "output" }, access: "read_write", element };
}

/** WGSL element type of a buffer that holds a dtype; a word packs several elements of less than 32 bits. */
export function elementOf(dtype: DType): "f32" | "i32" | "u32" {
  return dtype === "f32" || dtype === "i32" ? dtype : "u32";
}

/**
 * NaN and infinity by their bits: WGSL compilers may assume that neither occurs, so comparisons and `max` cannot be relied on.
 * NaN's bits come from a variable because WGSL rejects constants that are not finite.
 */
export const specials: string = dedent(`
  var<private> nanBits: u32 = 0x7fc00000u;
  fn nan() -> f32 { return bitcast<f32>(nanBits); }
  fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
  fn isInfinite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
  fn isNegativeInfinity(x: f32) -> bool { return bitcast<u32>(x) == 0xff800000u; }
`);

/** `keyOf`: f32 as u32 keys of the same order, NaN (any) the largest, both zeros equal. */
export const orderKeys: string = dedent(`
  fn keyOf(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
    if ((bits & 0x80000000u) == 0u || bits == 0x80000000u) { return bits | 0x80000000u; }
    return ~bits;
  }
`);

/** Bits of the f16 nearest to x, ties to even, exactly as `floatToHalf` of `@centella/quant`. WGSL does not define the rounding. */
export const toHalf: string = dedent(`
  fn toHalf(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
    if (magnitude >= 0x477ff000u) { return sign | 0x7c00u; }
    if (magnitude < 0x38800000u) { return sign | u32(round(abs(x) * 16777216.0)); }
    return sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u);
  }
`);

export function dedent(text: string): string {
  const lines = text.split("\n").filter((line, i, all) => line.trim() !== "" || (i > 0 && i < all.length - 1));
  const margin = Math.min(...lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(margin).trimEnd()).join("\n");
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
