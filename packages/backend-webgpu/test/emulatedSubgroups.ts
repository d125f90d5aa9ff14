import type { Dispatch } from "../src/index.ts";

/** Bytes of the workgroup's memory that the emulation of 256 lanes takes. */
export const exchangeBytes: number = 256 * 16;

const declarations = `var<workgroup> exchanged: array<vec4f, ${exchangeBytes / 16}>;
fn otherVector(lane: u32, value: vec4f, mask: u32) -> vec4f {
  workgroupBarrier();
  exchanged[lane] = value;
  workgroupBarrier();
  return exchanged[lane ^ mask];
}
fn other(lane: u32, value: f32, mask: u32) -> f32 { return otherVector(lane, vec4f(value), mask).x; }
`;

/**
 * The dispatch for subgroups of any size on a device with smaller ones: lanes exchange values in the workgroup's memory. All lanes of the workgroup
 * must do so together. Variables with vectors are those whose names begin with `o`.
 */
export function withoutSubgroups(dispatch: Dispatch): Dispatch {
  const code = dispatch.code
    .replace(/^enable subgroups;\n.*\n/, "")
    .replace(/subgroupShuffleXor\((o?)/g, (_, o: string) => `${o === "o" ? "otherVector" : "other"}(lane, ${o}`)
    .replace(/(?=@compute)/, declarations);
  return { ...dispatch, code };
}
