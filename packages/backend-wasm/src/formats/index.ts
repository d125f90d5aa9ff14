import type { DType } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import type { GroupFormat } from "./format.ts";
import { iq4_nl } from "./iq4_nl.ts";
import { iq4_xs } from "./iq4_xs.ts";
import { mxfp4 } from "./mxfp4.ts";
import { q2_K } from "./q2_K.ts";
import { q3_K } from "./q3_K.ts";
import { q4_0 } from "./q4_0.ts";
import { q4_1 } from "./q4_1.ts";
import { q4_K } from "./q4_K.ts";
import { q5_0 } from "./q5_0.ts";
import { q5_1 } from "./q5_1.ts";
import { q5_K } from "./q5_K.ts";
import { q6_K } from "./q6_K.ts";
import { q8_0 } from "./q8_0.ts";
import { scaled8 } from "./scaled8.ts";

/** Formats that kernels read: the common block types unchanged, and `scaled8` for the remaining ones. */
export type FormatName =
  | "q4_0"
  | "q4_1"
  | "q5_0"
  | "q5_1"
  | "q8_0"
  | "q2_K"
  | "q3_K"
  | "q4_K"
  | "q5_K"
  | "q6_K"
  | "iq4_nl"
  | "iq4_xs"
  | "mxfp4"
  | "scaled8";

const formats: Readonly<Record<FormatName, GroupFormat>> = {
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_K,
  q3_K,
  q4_K,
  q5_K,
  q6_K,
  iq4_nl,
  iq4_xs,
  mxfp4,
  scaled8,
};

/** Names of all formats. */
export const formatNames: readonly FormatName[] = Object.keys(formats) as FormatName[];

/** The format in which a block type is multiplied, or undefined for plain types. */
export function formatNameOf(dtype: DType): FormatName | undefined {
  if (!isQuantized(dtype)) return undefined;
  return Object.hasOwn(formats, dtype) ? (dtype as FormatName) : "scaled8";
}

export function formatOf(name: FormatName): GroupFormat {
  return formats[name];
}
