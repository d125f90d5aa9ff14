import { byteArray, check } from "../checks.ts";
import { QuantError } from "../errors.ts";
import { type CodebookType, codebookBlock, codeReader } from "../types/codebook/codebook.ts";
import { codebookTypes, isCodebookName } from "../types/codebook/codebookTypes.ts";
import { tq1ToTq2 } from "../types/tq1_0.ts";
import { type BlockType, blockLayout, type TypeLayout } from "../types/types.ts";
import { each, nibbles, type PlaneLayout, piece, planeLayouts } from "./layouts.ts";

/** Blocks with planes that {@link recode} writes. */
export interface RecodedForm extends Pick<TypeLayout, "blockElements" | "blockBytes"> {
  readonly layout: PlaneLayout;
}

/** Bytes of a recoded block of a codebook type: codes, scales, `d`, and 6 bytes that make it a multiple of 16. */
const blockBytes = 144;
const scalesAt = 128;
const halfAt = 136;

/**
 * The form that {@link recode} gives to blocks of a type; undefined for types whose blocks have a code for each weight anyway.
 *
 * Codebook types become blocks of 256 weights in 144 bytes: 128 bytes of codes, 4 bits each as in iq4_xs; 8 bytes of scales, 4 bits each,
 * the low nibbles first; and the f16 `d`. tq1_0 becomes tq2_0. No value changes.
 */
export function recodedForm(type: BlockType): RecodedForm | undefined {
  blockLayout(type);
  if (type === "tq1_0") return { ...blockLayout("tq2_0"), layout: planeLayouts.tq2_0! };
  if (!isCodebookName(type)) return undefined;
  const { levels, groupSize, factor } = codebookTypes[type];
  const scales = each(codebookBlock / groupSize, (index) => piece(scalesAt + (index >> 1), 4 * (index & 1), 4));
  const codes = each(codebookBlock, nibbles(0, 16));
  const layout = { codeBits: 4, groupSize, levels, codes, scales, scaleOffset: -0.5, factor, d: halfAt };
  return { blockElements: codebookBlock, blockBytes, layout };
}

/**
 * Rewrites blocks whose weights share codes as blocks in {@link recodedForm}, in which each weight has its own.
 * @throws {QuantError} `unsupported-type` for types without that form, `length` if `bytes` are not whole blocks
 */
export function recode(type: BlockType, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  check("recode", "bytes", bytes, byteArray);
  const { blockBytes: stored } = blockLayout(type);
  if (recodedForm(type) === undefined)
    throw new QuantError("unsupported-type", `recode: expected a codebook type or tq1_0, got ${type}; its weights have codes already`);
  if (bytes.length % stored !== 0)
    throw new QuantError("length", `recode: expected a multiple of ${stored} bytes for ${type}, got ${bytes.length}`);
  return isCodebookName(type) ? recodeCodebook(codebookTypes[type], stored, bytes) : tq1ToTq2(bytes);
}

function recodeCodebook(type: CodebookType, stored: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const groups = codebookBlock / type.groupSize;
  const blocks = new Uint8Array((bytes.length / stored) * blockBytes);
  const read = codeReader(type);
  for (let at = 0, to = 0; at < bytes.length; at += stored, to += blockBytes) {
    const codes = read(bytes, at);
    for (let i = 0; i < scalesAt; i++) {
      const low = ((i & ~15) << 1) | (i & 15);
      blocks[to + i] = codes[low]! | (codes[low + 16]! << 4);
    }
    for (let group = 0; group < groups; group++) blocks[to + scalesAt + (group >> 1)]! |= type.scale(bytes, at, group) << (4 * (group & 1));
    const d = type.d(bytes, at);
    blocks[to + halfAt] = d & 255;
    blocks[to + halfAt + 1] = d >> 8;
  }
  return blocks;
}
