import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../ptx/emitter.ts";
import type { CopyTable, EntryField } from "./packing.ts";

/** A copy of bits in a kernel. */
interface CopyStep {
  /** Returns a number of the copy's entry. */
  field(field: EntryField): U32;
  /** Copies as many bits as `bits` says, from bit `from` of `source` to bit `to` of the result. */
  copy(source: U32, fields: { readonly from: EntryField; readonly bits: EntryField; readonly to: EntryField }): void;
}

/** Makes a table a part of the kernel's text. The result returns the bits of a place, given what copies them. */
export function copyReader(k: PtxEmitter, { starts, copies, flips }: CopyTable): (place: U32, copyBits: (step: CopyStep) => void) => U32 {
  const [startTable, copyTable] = [k.table("u32", [...starts]), k.table("u32", [...copies])];
  const flipTable = flips.some((bits) => bits !== 0) ? k.table("u32", [...flips]) : undefined;
  return (place, copyBits) => {
    const start = k.at("u32", startTable, place);
    const result = k.variable("u32", flipTable === undefined ? 0 : k.ld("u32", k.at("u32", flipTable, place)));
    k.for(k.ld("u32", start), k.ld("u32", start, 1), 1, (i) => {
      const entry = k.ld("u32", k.at("u32", copyTable, i));
      const field = ({ from, bits }: EntryField): U32 => k.and(k.shiftRight(entry, from), 2 ** bits - 1);
      const copy: CopyStep["copy"] = (source, { from, bits, to }) => {
        const mask = k.sub(k.shiftLeft(k.constant("u32", 1), field(bits)), 1);
        const copied = k.and(k.shiftRight(source, field(from)), mask);
        result.set(k.xor(result.get(), k.shiftLeft(copied, field(to))));
      };
      copyBits({ field, copy });
    });
    return result.get();
  };
}
