import type { Dispatch } from "../../src/kernels/shared/kernel.ts";

/** Bytes of the workgroup's memory that the emulation of 256 lanes takes. */
export const exchangeBytes: number = 256 * 16;

const declarations = `var<workgroup> exchanged: array<vec4u, ${exchangeBytes / 16}>;
fn otherBits(lane: u32, bits: vec4u, mask: u32) -> vec4u {
  workgroupBarrier();
  exchanged[lane] = bits;
  workgroupBarrier();
  return exchanged[lane ^ mask];
}
fn otherVector(lane: u32, value: vec4f, mask: u32) -> vec4f { return bitcast<vec4f>(otherBits(lane, bitcast<vec4u>(value), mask)); }
fn otherFloat(lane: u32, value: f32, mask: u32) -> f32 { return otherVector(lane, vec4f(value), mask).x; }
fn otherInteger(lane: u32, value: i32, mask: u32) -> i32 { return bitcast<i32>(otherBits(lane, vec4u(bitcast<u32>(value)), mask).x); }
fn otherWord(lane: u32, value: u32, mask: u32) -> u32 { return otherBits(lane, vec4u(value), mask).x; }
`;

/** Functions for values that are no floats, by how the names of their variables begin. */
const exchanges: Readonly<Record<string, string>> = { o: "otherVector", i_: "otherInteger", u_: "otherWord" };

/**
 * The dispatch for subgroups of any size on a device with smaller ones: lanes exchange values in the workgroup's memory. All lanes of the workgroup
 * must do so together.
 */
export function withoutSubgroups(dispatch: Dispatch): Dispatch {
  if (!dispatch.code.includes("subgroupShuffleXor")) return dispatch;
  const code = dispatch.code
    .replace(/^enable subgroups;\n.*\n/, "")
    .replace(
      /subgroupShuffleXor\((o|[iu]_)?/g,
      (_, name: string | undefined) => `${exchanges[name ?? ""] ?? "otherFloat"}(lane, ${name ?? ""}`,
    )
    .replace(/(?=@compute)/, declarations);
  return { ...dispatch, code };
}
