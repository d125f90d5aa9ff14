import { v128 } from "../emit/index.ts";
import type { GroupFormat } from "../formats/format.ts";
import type { Target } from "../target.ts";

/**
 * A format as dot products of bytes read it. Instructions that multiply signed with unsigned bytes take signed codes with a bias of 128, which
 * the sums of the activations remove. Runs with scales of their own have no such sums.
 */
export function dotFormat(format: GroupFormat, { dots }: Target): GroupFormat {
  if (dots !== "mixedQuads" || format.largestCode !== undefined || format.hasRunScales === true) return format;
  const { codes } = format;
  return {
    ...format,
    largestCode: 255,
    biasBits: 7,
    codes: (context, index, half) => v128.xor(codes(context, index, half), context.f.splatBits(0x80808080)),
  };
}
