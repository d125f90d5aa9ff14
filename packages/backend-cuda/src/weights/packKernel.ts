import { PtxEmitter } from "../ptx/emitter.ts";
import { copyReader } from "./copyReader.ts";
import { type KernelText, textPerSize } from "./kernelText.ts";
import { packFields, packingOf, storedRowBytes } from "./packing.ts";
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
  const packing = packingOf(format);
  const k = new PtxEmitter(packEntry, { rows: "u8", units: "u32" }, packThreads);
  const words = format.bytes / 4;
  const storedBytes = storedRowBytes(format, columns);
  const readCopies = copyReader(k, packing);
  const rows = k.pointer("rows", "u32");
  const rowCount = k.ld("u32", rows);
  const unit = k.block();
  const unitsPerTile = Math.ceil(columns / format.width);
  const firstRow = k.mul(k.quotient(unit, unitsPerTile), unitRows);
  const firstByte = k.mul(k.remainder(unit, unitsPerTile), packing.rowBytes);
  k.for(k.thread(), words, packThreads, (word) => {
    const packed = readCopies(word, ({ field, copy }) => {
      const row = k.add(firstRow, field(packFields.row));
      const byte = k.add(firstByte, field(packFields.byte));
      k.if(k.and(k.compare("lt", row, rowCount), k.compare("lt", byte, storedBytes)), () => {
        const source = k.ldByte(k.atBytes(k.atBytes(rows, row, storedBytes), byte, 1), packHeaderBytes);
        copy(source, { from: packFields.shift, bits: packFields.bits, to: packFields.to });
      });
    });
    k.st("u32", k.at("u32", k.pointer("units", "u32"), k.mad(unit, words, word)), packed);
  });
  return k.text();
});
