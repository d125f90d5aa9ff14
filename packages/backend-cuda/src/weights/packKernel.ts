import type { U32 } from "@centella/gpu-kernels";
import { PtxEmitter } from "../ptx/emitter.ts";
import { type KernelText, textPerSize } from "./kernelText.ts";
import { copyFields, packingOf, storedRowBytes } from "./packing.ts";
import { unitRows } from "./unitFormat.ts";

/** Bytes before the stored rows that {@link packKernel} reads: the first word is the number of rows. */
export const packHeaderBytes = 16;

export const packThreads = 256;

export const packEntry = "packUnits";

/**
 * The text of the kernel that packs rows of `columns` weights. A block writes a unit. Parameters: a header and the stored rows, then the units of
 * these rows. Units have weights of any value in rows past the last one.
 */
export const packKernel: KernelText = textPerSize((format, columns) => {
  const { starts, copies, flips, rowBytes } = packingOf(format);
  const k = new PtxEmitter(packEntry, { rows: "u8", units: "u32" }, packThreads);
  const words = format.bytes / 4;
  const storedBytes = storedRowBytes(format, columns);
  const [startTable, copyTable] = [k.table("u32", [...starts]), k.table("u32", [...copies])];
  const flipTable = flips.some((word) => word !== 0) ? k.table("u32", [...flips]) : undefined;
  const rows = k.pointer("rows", "u32");
  const rowCount = k.ld("u32", rows);
  const unit = k.block();
  const unitsPerTile = Math.ceil(columns / format.width);
  const firstRow = k.mul(k.quotient(unit, unitsPerTile), unitRows);
  const firstByte = k.mul(k.remainder(unit, unitsPerTile), rowBytes);
  k.for(k.thread(), words, packThreads, (word) => {
    const start = k.at("u32", startTable, word);
    const packed = k.variable("u32", flipTable === undefined ? 0 : k.ld("u32", k.at("u32", flipTable, word)));
    k.for(k.ld("u32", start), k.ld("u32", start, 1), 1, (i) => {
      const entry = k.ld("u32", k.at("u32", copyTable, i));
      const field = ({ from, bits }: { readonly from: number; readonly bits: number }): U32 =>
        k.and(k.shiftRight(entry, from), 2 ** bits - 1);
      const row = k.add(firstRow, field(copyFields.row));
      const byte = k.add(firstByte, field(copyFields.byte));
      k.if(k.and(k.compare("lt", row, rowCount), k.compare("lt", byte, storedBytes)), () => {
        const source = k.atBytes(k.atBytes(rows, row, storedBytes), byte, 1);
        const mask = k.sub(k.shiftLeft(k.constant("u32", 1), field(copyFields.bits)), 1);
        const bits = k.and(k.shiftRight(k.ldByte(source, packHeaderBytes), field(copyFields.shift)), mask);
        packed.set(k.xor(packed.get(), k.shiftLeft(bits, field(copyFields.to))));
      });
    });
    k.st("u32", k.at("u32", k.pointer("units", "u32"), k.mad(unit, words, word)), packed.get());
  });
  return k.text();
});
