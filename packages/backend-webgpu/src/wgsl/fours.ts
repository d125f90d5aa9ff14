/**
 * Element type of workgroup memory that has four floats side by side, which several lanes write. It is no vector: a write to one component may write
 * the whole vector, so that a device may lose what other lanes write to it at the same time (https://github.com/gpuweb/gpuweb/issues/2112).
 */
export const fourType = "array<f32, 4>";

/** Declarations of `vectorOf(four)` and `fourOf(vector)`, which convert whole elements. */
export const fourDeclarations: readonly string[] = [
  `fn vectorOf(four: ${fourType}) -> vec4f { return vec4f(four[0], four[1], four[2], four[3]); }`,
  `fn fourOf(vector: vec4f) -> ${fourType} { return ${fourType}(vector.x, vector.y, vector.z, vector.w); }`,
];
