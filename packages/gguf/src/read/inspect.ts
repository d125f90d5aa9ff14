import type { GgmlType } from "@centella/quant";
import { check, elementAt, formatBytes, isRecord, kind } from "@centella/quant/checks";
import type { ByteOrder } from "../byteOrder.ts";
import { type FileType, fileTypeById } from "../fileTypes.ts";
import { ggufFile } from "../kinds.ts";
import { shown } from "../shown.ts";
import type { GgufFile } from "./file.ts";
import { isNumericArray, type MetadataArray, type MetadataEntry, type MetadataValue, type ValueType } from "./metadata.ts";
import { StringTable } from "./stringTable.ts";

/** Elements of an array that a report shows. */
const shownElements = 8;

/** A value that JSON can hold: bigints, NaN and infinities are strings. */
export type InspectedValue = string | number | boolean | InspectedArray;

/** An array, shown by its first elements. */
export interface InspectedArray {
  readonly length: number;
  readonly first: readonly InspectedValue[];
}

/** A tensor of a report; `shape` row-major, `offset` from the start of the file. */
export interface InspectedTensor {
  readonly name: string;
  readonly type: GgmlType;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
}

/** Content of a GGUF file as plain data for `JSON.stringify`. */
export interface InspectReport {
  readonly version: number;
  readonly byteOrder: ByteOrder;
  /** 1, or the parts of a split file. */
  readonly parts: number;
  readonly fileBytes: number;
  /** Byte at which the tensor data begins. */
  readonly dataOffset: number;
  readonly alignment: number;
  readonly architecture: string | null;
  readonly name: string | null;
  /** From `general.file_type`; without that key, or with an unknown number, null. */
  readonly fileType: FileType | null;
  /** Elements of all tensors. */
  readonly parameters: number;
  /** Bytes of all tensors. */
  readonly tensorBytes: number;
  /** `8 * tensorBytes / parameters`, 0 without tensors. */
  readonly bitsPerWeight: number;
  /** Per tensor type, the largest share of bytes first. */
  readonly types: readonly { readonly type: GgmlType; readonly tensors: number; readonly elements: number; readonly bytes: number }[];
  readonly metadata: readonly {
    readonly key: string;
    readonly type: ValueType;
    readonly elementType?: ValueType;
    readonly value: InspectedValue;
  }[];
  readonly tensors: readonly InspectedTensor[];
}

/** Summarises a file from its header; reads nothing more. */
export function inspect(file: GgufFile): InspectReport {
  check("inspect", "file", file, ggufFile);
  const parameters = file.tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
  const tensorBytes = file.tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
  const fileTypeId = file.metadata.get("general.file_type");
  return {
    version: file.version,
    byteOrder: file.byteOrder,
    parts: file.parts,
    fileBytes: file.source.size,
    dataOffset: file.dataOffset,
    alignment: file.alignment,
    architecture: stringOrNull(file.metadata.get("general.architecture")),
    name: stringOrNull(file.metadata.get("general.name")),
    fileType: (typeof fileTypeId === "number" ? fileTypeById(fileTypeId) : undefined) ?? null,
    parameters,
    tensorBytes,
    bitsPerWeight: parameters === 0 ? 0 : (8 * tensorBytes) / parameters,
    types: typeHistogram(file),
    metadata: [...file.metadata].map(inspectEntry),
    tensors: file.tensors.map(({ name, type, shape, offset, bytes }) => ({ name, type, shape, offset, bytes })),
  };
}

function stringOrNull(value: MetadataValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function typeHistogram(file: GgufFile): InspectReport["types"] {
  const totals = new Map<GgmlType, { type: GgmlType; tensors: number; elements: number; bytes: number }>();
  for (const { type, elements, bytes } of file.tensors) {
    const total = totals.get(type) ?? { type, tensors: 0, elements: 0, bytes: 0 };
    total.tensors += 1;
    total.elements += elements;
    total.bytes += bytes;
    totals.set(type, total);
  }
  return [...totals.values()].sort((a, b) => b.bytes - a.bytes);
}

function inspectEntry({ key, type, elementType, value }: MetadataEntry): InspectReport["metadata"][number] {
  return { key, type, ...(elementType === undefined ? {} : { elementType }), value: inspectValue(value) };
}

function inspectValue(value: MetadataValue): InspectedValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "bigint":
      return String(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    default:
      return { length: value.length, first: firstElements(value).map(inspectValue) };
  }
}

function firstElements(array: MetadataArray): MetadataValue[] {
  if (array instanceof StringTable) {
    const first: string[] = [];
    for (const text of array) if (first.push(text) === shownElements) break;
    return first;
  }
  if (isNumericArray(array)) return [...array.subarray(0, shownElements)];
  return array.slice(0, shownElements);
}

const reportKind = kind(
  "what inspect() returns",
  (value) => isRecord(value) && [value.tensors, value.metadata, value.types].every(Array.isArray),
);

/** The report as text for a terminal: a summary, the metadata, the tensors. */
export function formatInspect(report: InspectReport): string {
  check("formatInspect", "report", report, reportKind);
  const { fileType } = report;
  const lines = [
    `format        GGUF version ${report.version}${report.byteOrder === "big" ? ", big-endian" : ""}, ${formatBytes(report.fileBytes)}${report.parts > 1 ? ` in ${report.parts} parts` : ""}`,
    `architecture  ${shown(report.architecture ?? "(not given)")}`,
    `name          ${shown(report.name ?? "(not given)")}`,
    `quantisation  ${fileType === null ? "(not given)" : formatFileType(fileType)}`,
    `parameters    ${grouped(report.parameters)}, ${report.bitsPerWeight.toFixed(2)} bits per weight`,
    `tensors       ${report.tensors.length}, ${formatBytes(report.tensorBytes)}: ${report.types.map(({ type, tensors }) => `${tensors} ${type}`).join(", ") || "none"}`,
    "",
    `metadata (${report.metadata.length})`,
    ...table(
      report.metadata.map(({ key, type, elementType, value }) => [shown(key), typeColumn(type, elementType, value), formatValue(value)]),
    ),
    "",
    `tensors (${report.tensors.length})`,
    ...table(report.tensors.map(({ name, type, shape, bytes }) => [shown(name), type, `[${shape.join(", ")}]`, formatBytes(bytes)])),
  ];
  return `${lines.join("\n")}\n`;
}

function formatFileType({ name, label }: FileType): string {
  return name === label ? name : `${name} (${label})`;
}

function typeColumn(type: ValueType, elementType: ValueType | undefined, value: InspectedValue): string {
  return elementType !== undefined && typeof value === "object" ? `${elementType}[${value.length}]` : type;
}

function formatValue(value: InspectedValue): string {
  if (typeof value !== "object") return typeof value === "string" ? `"${shown(value)}"` : String(value);
  const more = value.length > value.first.length ? ", …" : "";
  return `[${shown(value.first.map(formatValue).join(", "))}${more}]`;
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, { length }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, length);
  return rows.map((row) => `  ${row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(elementAt(widths, i)))).join("  ")}`);
}

function grouped(n: number): string {
  return n.toLocaleString("en-US");
}
