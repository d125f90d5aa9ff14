import { bytes, codePoints, type Regular, repeat } from "@centella/grammar";

/** Most characters of white space between parts of an answer. */
const maxSpace = 4;

/** White space between parts of an answer. */
export const whiteSpace: Regular = repeat(
  codePoints([
    [0x09, 0x0a],
    [0x0d, 0x0d],
    [0x20, 0x20],
  ]),
  0,
  maxSpace,
);

/** White space of any length. */
export const anySpace: Regular = repeat(
  bytes([
    [0x09, 0x0d],
    [0x20, 0x20],
  ]),
  0,
  Infinity,
);
