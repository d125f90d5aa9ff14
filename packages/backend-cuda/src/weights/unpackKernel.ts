import { PtxEmitter } from "../ptx/emitter.ts";
import { copyReader } from "./copyReader.ts";
import { type KernelText, textPerSize } from "./kernelText.ts";
import { storedRowBytes, unpackFields, unpackingOf } from "./packing.ts";
import { type UnitFormat, unitRows } from "./unitFormat.ts";

export const unpackThreads = 256;

export const unpackEntry = "unpackUnits";

/** Blocks of {@link unpackKernel} that share a row tile: a thread stores a word. */
export function unpackBlocksPerTile(format: UnitFormat, columns: number): number {
  return Math.ceil(wordsPerTile(format, columns) / unpackThreads);
}

function wordsPerTile(format: UnitFormat, columns: number): number {
  return (unitRows * storedRowBytes(format, columns)) / 4;
}

/** The text of the kernel that turns units into the stored form of rows of `columns` weights. Parameters: the units, then 16 rows of each row tile. */
export const unpackKernel: KernelText = textPerSize((format, columns) => {
  const unpacking = unpackingOf(format);
  const { rowBytes } = unpacking;
  const k = new PtxEmitter(unpackEntry, { units: "u32", rows: "u32" }, unpackThreads);
  const storedBytes = storedRowBytes(format, columns);
  const words = wordsPerTile(format, columns);
  const blocks = unpackBlocksPerTile(format, columns);
  const readCopies = copyReader(k, unpacking);
  const tile = k.quotient(k.block(), blocks);
  const firstUnit = k.mul(tile, Math.ceil(columns / format.width));
  const word = k.mad(k.remainder(k.block(), blocks), unpackThreads, k.thread());
  k.if(k.compare("lt", word, words), () => {
    const stored = k.variable("u32", 0);
    k.for(0, 4, 1, (i) => {
      const at = k.mad(word, 4, i);
      const [row, ofRow] = [k.quotient(at, storedBytes), k.remainder(at, storedBytes)];
      const unit = k.atBytes(k.pointer("units", "u32"), k.add(firstUnit, k.quotient(ofRow, rowBytes)), format.bytes);
      const byte = readCopies(k.mad(row, rowBytes, k.remainder(ofRow, rowBytes)), ({ field, copy }) => {
        const source = k.ld("u32", k.at("u32", unit, field(unpackFields.word)));
        copy(source, { from: unpackFields.to, bits: unpackFields.bits, to: unpackFields.shift });
      });
      stored.set(k.or(stored.get(), k.shiftLeft(byte, k.shiftLeft(i, 3))));
    });
    k.st("u32", k.at("u32", k.pointer("rows", "u32"), k.mad(tile, words, word)), stored.get());
  });
  return k.text();
});
