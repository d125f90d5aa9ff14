import { ArgumentError } from "@centella/core";
import { absolutePlace, type ByteSource, type GgufInput } from "@centella/gguf";
import { Caller, serveCalls } from "./channel.ts";

/** A source in a form that can be sent to another thread. A custom `ByteSource` stays in its thread and is read across a channel. */
export type PackedSource =
  | { readonly type: "input"; readonly input: string | Blob | ArrayBuffer | Uint8Array }
  | { readonly type: "remote"; readonly size: number; readonly port: MessagePort };

interface SourceCalls {
  read(offset: number, length: number): Uint8Array;
}

/** Packs a source. Adds ports that must be transferred with it to `transfer`. URLs are resolved here, relative to the page. */
export function packSource(source: GgufInput, transfer: (ArrayBuffer | MessagePort)[]): PackedSource {
  if (typeof source === "string" || source instanceof URL) return { type: "input", input: absolutePlace(source) };
  if (source instanceof Blob || source instanceof ArrayBuffer || source instanceof Uint8Array) return { type: "input", input: source };
  if (typeof source?.read !== "function" || !Number.isSafeInteger(source.size))
    throw new ArgumentError("loadModel", "a path, URL, Blob, bytes or a ByteSource", source === null ? "null" : typeof source);
  const { port1, port2 } = new MessageChannel();
  serveCalls<SourceCalls>(port1, {
    // The source may keep a reference to the bytes, so a copy is transferred.
    read: async ({ signal }, offset, length) => (await source.read(offset, length, signal)).slice(),
  });
  transfer.push(port2);
  return { type: "remote", size: source.size, port: port2 };
}

/** Unpacks a source in the receiving thread. Call `close` when it is no longer read. */
export function unpackSource(source: PackedSource): { readonly input: GgufInput; close?(): void } {
  if (source.type === "input") return { input: source.input };
  const caller = new Caller<SourceCalls>(source.port);
  const input: ByteSource = { size: source.size, read: (offset, length, signal) => caller.call("read", [offset, length], { signal }) };
  return { input, close: () => caller.close("source") };
}
