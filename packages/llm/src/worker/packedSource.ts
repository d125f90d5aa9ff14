import { ArgumentError } from "@centella/core";
import { absolutePlace, type ByteSource, type GgufInput } from "@centella/gguf";
import { Caller, serveCalls } from "./channel.ts";

/** A source on its way to another thread: a source of the page's own stays there and is read across a channel. */
export type PackedSource =
  | { readonly type: "input"; readonly input: string | Blob | ArrayBuffer | Uint8Array }
  | { readonly type: "remote"; readonly size: number; readonly port: MessagePort };

interface SourceCalls {
  read(offset: number, length: number): Uint8Array;
}

/** What a source becomes, with the ports that go with it. URLs are relative to this page, not to the worker. */
export function packSource(source: GgufInput, transfer: (ArrayBuffer | MessagePort)[]): PackedSource {
  if (typeof source === "string" || source instanceof URL) return { type: "input", input: absolutePlace(source) };
  if (source instanceof Blob || source instanceof ArrayBuffer || source instanceof Uint8Array) return { type: "input", input: source };
  if (typeof source?.read !== "function" || !Number.isSafeInteger(source.size))
    throw new ArgumentError("loadModel", "a path, URL, Blob, bytes or a ByteSource", source === null ? "null" : typeof source);
  const { port1, port2 } = new MessageChannel();
  serveCalls<SourceCalls>(port1, {
    // What a source gives may be shared with it: only a copy can be moved.
    read: async ({ signal }, offset, length) => (await source.read(offset, length, signal)).slice(),
  });
  transfer.push(port2);
  return { type: "remote", size: source.size, port: port2 };
}

/** The source in the thread that it came to; `close` is for when it is not read any more. */
export function unpackSource(source: PackedSource): { readonly input: GgufInput; close?(): void } {
  if (source.type === "input") return { input: source.input };
  const caller = new Caller<SourceCalls>(source.port);
  const input: ByteSource = { size: source.size, read: (offset, length, signal) => caller.call("read", [offset, length], { signal }) };
  return { input, close: () => caller.close("source") };
}
