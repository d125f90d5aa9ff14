import { dequantize, quantize, rowBytes } from "@centella/quant";
import { anything, describe, either, finite, isRecord, type Kinds, kind, listOf, oneOf, string, whole } from "@centella/quant/checks";
import { frozenMessages } from "../chat/conversation.ts";
import { type ChatMessage, checkMessages } from "../chat/messages.ts";
import { SnapshotError } from "../errors.ts";
import type { AdapterScales } from "../load/adapterScales.ts";
import type { CacheType } from "../model/modelBuilder.ts";

/** A tensor of the cache in a snapshot: a layer's keys and values, or recurrent states. */
export interface SnapshotLayer {
  readonly name: string;
  /** Elements of a token's keys and values, or of a state. */
  readonly elements: number;
}

/** Content of a saved session. */
export interface Snapshot {
  /** Fingerprint of the model that computed it. */
  readonly model: string;
  /** Scales of the named adapters that it was computed with, unless there are none. */
  readonly adapters?: AdapterScales | undefined;
  readonly cacheType: CacheType;
  readonly layers: readonly SnapshotLayer[];
  /** State tensors of a recurrent model. */
  readonly states: readonly SnapshotLayer[];
  readonly messages: readonly ChatMessage[];
  /** The tokens whose keys and values follow. */
  readonly ids: readonly number[];
  /** Keys and values of each layer, `[ids.length, elements]`. */
  readonly rows: readonly Float32Array[];
  /** Recurrent states after the last id, `[elements]` each. Empty if there are no ids. */
  readonly stateRows: readonly Float32Array[];
}

type Header = Omit<Snapshot, "ids" | "rows" | "states" | "stateRows"> & Partial<Pick<Snapshot, "states">> & { readonly tokens: number };

const layer = kind("a layer", (value) => isRecord(value) && string.accepts(value.name) && whole(1).accepts(value.elements));
/** Kinds of a header's fields, which are untrusted. `checkMessages` checks the messages. */
const headerKinds: Kinds<Header> = {
  model: string,
  adapters: either(
    kind("left out", (value) => value === undefined),
    kind("scales by name", (value) => isRecord(value) && Object.values(value).every((scale) => finite.accepts(scale))),
  ),
  cacheType: oneOf("f32", "f16", "q8_0"),
  layers: listOf("layers", layer),
  states: either(
    kind("left out", (value) => value === undefined),
    listOf("states", layer),
  ),
  messages: anything,
  tokens: whole(0),
};

const magic = new TextEncoder().encode("CENTELLA");
/** Versions of the format: without a MAC, and with a MAC after the checksum. */
const versions = { plain: 1, withMac: 2 };
/** Bytes of the magic, the version and the header's length. */
const prefixBytes = magic.length + 8;
const checksumBytes = 4;
/** Bytes of an HMAC-SHA-256. */
export const macBytes = 32;

/**
 * Encodes a snapshot. All numbers are little-endian. In order:
 * - "CENTELLA", u32 version, u32 length of the header, the header as JSON;
 * - the ids as i32;
 * - the rows of each layer in the cache's type, token by token, head by head, keys before values, regardless of the backend's layout;
 * - the states of a recurrent model as f32;
 * - the CRC-32 of all bytes before it;
 * - in version 2, the HMAC-SHA-256 of all bytes before it. `leavesRoom` reserves its bytes.
 */
export function encodeSnapshot({ ids, rows, states, stateRows, ...rest }: Snapshot, leavesRoom = false): Uint8Array<ArrayBuffer> {
  const header = new TextEncoder().encode(
    JSON.stringify({ ...rest, ...(states.length > 0 && { states }), tokens: ids.length } satisfies Header),
  );
  const layerBytes = layerSizes(rest, ids.length);
  const size = prefixBytes + header.length + 4 * ids.length + sum([...layerBytes, ...stateBytes(states, ids.length)]) + checksumBytes;
  const bytes = new Uint8Array(size + (leavesRoom ? macBytes : 0));
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(magic.length, leavesRoom ? versions.withMac : versions.plain, true);
  view.setUint32(magic.length + 4, header.length, true);
  bytes.set(header, prefixBytes);
  let at = prefixBytes + header.length;
  for (const id of ids) {
    view.setInt32(at, id, true);
    at += 4;
  }
  for (const [i, values] of rows.entries()) {
    const end = at + (layerBytes[i] ?? 0);
    if (values.length > 0) quantize(rest.cacheType, values, bytes.subarray(at, end));
    at = end;
  }
  for (const values of stateRows) {
    for (const value of values) {
      view.setFloat32(at, value, true);
      at += 4;
    }
  }
  view.setUint32(at, crc32(bytes.subarray(0, at)), true);
  return bytes;
}

/** Bytes of each layer's keys and values. */
function layerSizes({ cacheType, layers }: Pick<Snapshot, "cacheType" | "layers">, tokens: number): number[] {
  return layers.map(({ elements }) => rowBytes(cacheType, elements) * tokens);
}

/** Bytes of each recurrent state. An empty text has no states. */
function stateBytes(states: readonly SnapshotLayer[], tokens: number): number[] {
  return tokens === 0 ? [] : states.map(({ elements }) => 4 * elements);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Properties of a model that a snapshot must agree with. */
export type SnapshotTarget = Pick<Snapshot, "model" | "cacheType" | "layers" | "states"> & { readonly vocabSize: number };

/** Whether a snapshot ends with a MAC. @throws {SnapshotError} if the bytes are not a snapshot, or have another version */
export function hasMac(snapshot: Uint8Array): boolean {
  if (snapshot.length < prefixBytes + checksumBytes || magic.some((byte, i) => snapshot[i] !== byte)) {
    throw new SnapshotError("foreign", "restore: expected a snapshot of a session, got other bytes; pass what session.save() gave");
  }
  const found = viewOf(snapshot).getUint32(magic.length, true);
  const { plain, withMac } = versions;
  if (found !== plain && found !== withMac) {
    throw new SnapshotError(
      "version",
      `restore: expected a snapshot of version ${plain} or ${withMac}, got ${found}; save it again with this release`,
    );
  }
  if (found === withMac && snapshot.length < prefixBytes + checksumBytes + macBytes) throw damaged("no room for a MAC");
  return found === withMac;
}

/**
 * Decodes a snapshot without checking its MAC.
 * @throws {SnapshotError} if the bytes are not a snapshot, are damaged, or come from another model or another kind of cache
 */
export function decodeSnapshot(snapshot: Uint8Array, target: SnapshotTarget): Snapshot {
  const bytes = hasMac(snapshot) ? snapshot.subarray(0, -macBytes) : snapshot;
  const view = viewOf(bytes);
  const end = bytes.length - checksumBytes;
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end, true)) throw damaged("another checksum");
  const start = prefixBytes + view.getUint32(magic.length + 4, true);
  if (start > end) throw damaged("a header that is longer than the snapshot");
  const header = readHeader(bytes.subarray(prefixBytes, start));
  requireSame(header, target);
  const layerBytes = layerSizes(target, header.tokens);
  const size = start + 4 * header.tokens + sum([...layerBytes, ...stateBytes(target.states, header.tokens)]);
  if (size !== end) throw damaged(`${end - start} bytes after the header instead of ${size - start}`);
  const ids = Array.from({ length: header.tokens }, (_, i) => view.getInt32(start + 4 * i, true));
  if (ids.some((id) => id < 0 || id >= target.vocabSize)) throw damaged("ids outside the vocabulary");
  let at = start + 4 * header.tokens;
  const rows = target.layers.map(({ elements }, i) => {
    const values = new Float32Array(elements * header.tokens);
    const rowsEnd = at + (layerBytes[i] ?? 0);
    if (values.length > 0) dequantize(target.cacheType, bytes.subarray(at, rowsEnd), values);
    at = rowsEnd;
    return values;
  });
  const stateRows = (header.tokens === 0 ? [] : target.states).map(({ elements }) => {
    const values = Float32Array.from({ length: elements }, (_, i) => view.getFloat32(at + 4 * i, true));
    at += 4 * elements;
    return values;
  });
  return { ...target, messages: header.messages, ids, rows, stateRows };
}

/** Number of tokens in a saved session, without checking the rest. @throws {SnapshotError} if the bytes are not a snapshot, or are damaged */
export function snapshotTokens(snapshot: Uint8Array): number {
  return headerOf(snapshot).tokens;
}

/** Scales of the adapters of a snapshot, without checking the rest. @throws {SnapshotError} as {@link snapshotTokens} */
export function snapshotAdapters(snapshot: Uint8Array): AdapterScales | undefined {
  return headerOf(snapshot).adapters;
}

function headerOf(snapshot: Uint8Array): Header {
  hasMac(snapshot);
  const length = viewOf(snapshot).getUint32(magic.length + 4, true);
  return readHeader(snapshot.subarray(prefixBytes, prefixBytes + length));
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function readHeader(bytes: Uint8Array): Header {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw damaged("a header that is not JSON", { cause: error });
  }
  if (!isRecord(header)) throw damaged("a header that is not an object");
  for (const [name, { accepts, expected }] of Object.entries(headerKinds)) {
    if (!accepts(header[name])) throw damaged(`a header whose ${name} is not ${expected}`);
  }
  try {
    return { ...(header as Header), messages: frozenMessages(checkMessages("restore", (header as Header).messages)) };
  } catch (error) {
    throw damaged("malformed messages", { cause: error });
  }
}

function requireSame(header: Header, target: SnapshotTarget): void {
  if (header.model !== target.model) {
    throw new SnapshotError(
      "otherModel",
      `restore: expected a snapshot of this model (${target.model}), got one of another (${describe(header.model)}); load that model`,
    );
  }
  const isSame =
    header.cacheType === target.cacheType && isSameSizes(header.layers, target.layers) && isSameSizes(header.states ?? [], target.states);
  if (isSame) return;
  throw new SnapshotError(
    "otherCache",
    `restore: expected a snapshot of the ${describeCache(target)}, got ${describeCache(header)}; load the model with the same options`,
  );
}

function isSameSizes(a: readonly SnapshotLayer[], b: readonly SnapshotLayer[]): boolean {
  return a.length === b.length && a.every(({ elements }, i) => elements === b[i]?.elements);
}

function describeCache({ cacheType, layers, states = [] }: Pick<Header, "cacheType" | "layers" | "states">): string {
  // The header is untrusted, so its lists may have any length.
  const sizes = (of: readonly SnapshotLayer[]): string =>
    of
      .slice(0, 8)
      .map(({ elements }) => elements)
      .join(", ") + (of.length > 8 ? ", …" : "");
  return `${cacheType} cache of ${layers.length} layers with ${sizes(layers)} elements${states.length > 0 ? ` and states of ${sizes(states)}` : ""}`;
}

function damaged(got: string, options?: ErrorOptions): SnapshotError {
  return new SnapshotError("damaged", `restore: expected an undamaged snapshot, got bytes with ${got}; save the session again`, options);
}

let crcTable: Uint32Array | undefined;

/** CRC-32 as in ISO 3309, ZIP and PNG: polynomial 0xEDB88320, reflected. */
export function crc32(bytes: Uint8Array): number {
  crcTable ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
