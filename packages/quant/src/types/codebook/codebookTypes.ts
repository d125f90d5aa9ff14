import { type BlockType, blockLayout } from "../types.ts";
import type { CodebookType } from "./codebook.ts";
import { iq1M } from "./iq1_m.ts";
import { iq1S } from "./iq1_s.ts";
import { iq2S } from "./iq2_s.ts";
import { iq2Xs } from "./iq2_xs.ts";
import { iq2Xxs } from "./iq2_xxs.ts";
import { iq3S } from "./iq3_s.ts";
import { iq3Xxs } from "./iq3_xxs.ts";

export type CodebookName = "iq1_s" | "iq1_m" | "iq2_xxs" | "iq2_xs" | "iq2_s" | "iq3_xxs" | "iq3_s";

export const codebookTypes: Readonly<Record<CodebookName, CodebookType>> = {
  iq1_s: iq1S,
  iq1_m: iq1M,
  iq2_xxs: iq2Xxs,
  iq2_xs: iq2Xs,
  iq2_s: iq2S,
  iq3_xxs: iq3Xxs,
  iq3_s: iq3S,
};

export function isCodebookName(type: BlockType): type is CodebookName {
  return Object.hasOwn(codebookTypes, type);
}

/** The codebook of a type, its points one after the other; undefined for types without one. */
export function codebook(type: BlockType): Int8Array | undefined {
  blockLayout(type);
  if (!isCodebookName(type)) return undefined;
  const { grid, points } = codebookTypes[type];
  return Int8Array.from(grid(), (number) => points[number] ?? 0);
}
