import { dequantize, quantize, rowBytes } from "@centella/quant";
import type { ChatMessage } from "./chatTemplate.ts";
import { SnapshotError } from "./errors.ts";
import type { CacheType } from "./recording.ts";

/** A layer of the cache in a snapshot. */
export interface SnapshotLayer {
  readonly name: string;
  /** Elements of a token's keys and values. */
  readonly elements: number;
}

/** What a session is saved as. */
export interface Snapshot {
  /** Which model computed it: `fingerprint`. */
  readonly model: string;
  readonly cacheType: CacheType;
  readonly layers: readonly SnapshotLayer[];
  /** Of a recurrent model. */
  readonly states: readonly SnapshotLayer[];
  readonly messages: readonly ChatMessage[];
  /** The tokens whose keys and values follow. */
  readonly ids: readonly number[];
  /** Of each layer, `[ids.length, elements]`. */
  readonly rows: readonly Float32Array[];
  /** Of each state, `[elements]`, behind the last of the ids; none without ids. */
  readonly stateRows: readonly Float32Array[];
}

type Header = Omit<Snapshot, "ids" | "rows" | "states" | "stateRows"> & Partial<Pick<Snapshot, "states">> & { readonly tokens: number };

const magic = new TextEncoder().encode("CENTELLA");
const version = 1;
/** Magic, version, bytes of the header. */
const prefixBytes = magic.length + 8;
const checksumBytes = 4;

/**
 * A snapshot as bytes, all numbers little-endian: "CENTELLA", u32 version 1, u32 length of the header, the header as JSON, the ids as i32,
 * the rows of each layer in the cache's type (token by token, head by head, keys before values: no backend's layout), the states of a recurrent
 * model as f32, and the CRC-32 of all that.
 */
export function encodeSnapshot({ ids, rows, states, stateRows, ...rest }: Snapshot): Uint8Array {
  const header = new TextEncoder().encode(
    JSON.stringify({ ...rest, ...(states.length > 0 && { states }), tokens: ids.length } satisfies Header),
  );
  const layerBytes = rest.layers.map(({ elements }) => rowBytes(rest.cacheType, elements) * ids.length);
  const size = prefixBytes + header.length + 4 * ids.length + sum([...layerBytes, ...stateBytes(states, ids.length)]) + checksumBytes;
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(magic.length, version, true);
  view.setUint32(magic.length + 4, header.length, true);
  bytes.set(header, prefixBytes);
  let at = prefixBytes + header.length;
  for (const id of ids) {
    view.setInt32(at, id, true);
    at += 4;
  }
  for (const [i, values] of rows.entries()) {
    if (values.length > 0) quantize(rest.cacheType, values, bytes.subarray(at, at + layerBytes[i]!));
    at += layerBytes[i]!;
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

/** A text of no tokens has no states. */
function stateBytes(states: readonly SnapshotLayer[], tokens: number): number[] {
  return tokens === 0 ? [] : states.map(({ elements }) => 4 * elements);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** What a snapshot must agree with. */
export type SnapshotTarget = Pick<Snapshot, "model" | "cacheType" | "layers" | "states"> & { readonly vocabSize: number };

/** @throws {SnapshotError} if the bytes are no snapshot, are damaged, or come from another model or another kind of cache */
export function decodeSnapshot(bytes: Uint8Array, target: SnapshotTarget): Snapshot {
  if (bytes.length < prefixBytes + checksumBytes || magic.some((byte, i) => bytes[i] !== byte)) {
    throw new SnapshotError("foreign", "restore: expected a snapshot of a session, got other bytes; pass what session.save() gave");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = view.getUint32(magic.length, true);
  if (found !== version) {
    throw new SnapshotError("version", `restore: expected a snapshot of version ${version}, got ${found}; save it again with this release`);
  }
  const end = bytes.length - checksumBytes;
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end, true)) throw damaged("their checksum");
  const start = prefixBytes + view.getUint32(magic.length + 4, true);
  if (start > end) throw damaged("a header that is longer than they are");
  const header = readHeader(bytes.subarray(prefixBytes, start));
  requireSame(header, target);
  const layerBytes = target.layers.map(({ elements }) => rowBytes(target.cacheType, elements) * header.tokens);
  const size = start + 4 * header.tokens + sum([...layerBytes, ...stateBytes(target.states, header.tokens)]);
  if (size !== end) throw damaged(`${end - start} bytes behind the header instead of ${size - start}`);
  const ids = Array.from({ length: header.tokens }, (_, i) => view.getInt32(start + 4 * i, true));
  if (ids.some((id) => id < 0 || id >= target.vocabSize)) throw damaged("ids outside the vocabulary");
  let at = start + 4 * header.tokens;
  const rows = target.layers.map(({ elements }, i) => {
    const values = new Float32Array(elements * header.tokens);
    if (values.length > 0) dequantize(target.cacheType, bytes.subarray(at, at + layerBytes[i]!), values);
    at += layerBytes[i]!;
    return values;
  });
  const stateRows = (header.tokens === 0 ? [] : target.states).map(({ elements }) => {
    const values = Float32Array.from({ length: elements }, (_, i) => view.getFloat32(at + 4 * i, true));
    at += 4 * elements;
    return values;
  });
  return { ...target, messages: header.messages, ids, rows, stateRows };
}

function readHeader(bytes: Uint8Array): Header {
  let header: Partial<Header>;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as Partial<Header>;
  } catch (error) {
    throw damaged("a header that is no JSON", { cause: error });
  }
  const { tokens, messages, layers } = header ?? {};
  const isCount = typeof tokens === "number" && Number.isSafeInteger(tokens) && tokens >= 0;
  if (!isCount || !Array.isArray(messages) || !Array.isArray(layers)) throw damaged("a header that lacks fields");
  return header as Header;
}

function requireSame(header: Header, target: SnapshotTarget): void {
  if (header.model !== target.model) {
    throw new SnapshotError(
      "otherModel",
      `restore: expected a snapshot of this model (${target.model}), got one of another (${header.model}); load that model`,
    );
  }
  const sizes = (layers: readonly SnapshotLayer[]): string => layers.map(({ elements }) => elements).join(", ");
  const show = ({ cacheType, layers, states = [] }: Pick<Header, "cacheType" | "layers" | "states">): string =>
    `${cacheType} cache of ${layers.length} layers with ${sizes(layers)} elements${states.length > 0 ? ` and states of ${sizes(states)}` : ""}`;
  if (show(header) !== show(target)) {
    throw new SnapshotError(
      "otherCache",
      `restore: expected a snapshot of the ${show(target)}, got ${show(header)}; load the model with the same options`,
    );
  }
}

function damaged(got: string, options?: ErrorOptions): SnapshotError {
  return new SnapshotError("damaged", `restore: expected an undamaged snapshot, got bytes with ${got}; save the session again`, options);
}

let table: Uint32Array | undefined;

/** CRC-32 as in ISO 3309, ZIP and PNG: polynomial 0xEDB88320, reflected. */
export function crc32(bytes: Uint8Array): number {
  table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  let crc = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
