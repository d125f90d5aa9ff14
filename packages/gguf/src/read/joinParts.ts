import { elementAt } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { shownUrl } from "../http/secrets.ts";
import { shown, shownPath } from "../shown.ts";
import type { ByteSource, GgufInput } from "../source/byteSource.ts";
import { parseSplitName, splitKeys, splitName } from "../splitName.ts";
import type { Header } from "./header.ts";
import { closeAll, type OpenedParts, type Part, partCount } from "./part.ts";
import type { TensorInfo } from "./tensorInfo.ts";

/** Returns the paths or URLs of the parts after the first, which `input` is. */
export function siblings(input: GgufInput, { metadata }: Header): (string | URL)[] {
  const count = partCount(metadata);
  if (count <= 1) return [];
  const number = metadata.count(splitKeys.no) + 1;
  if (typeof input !== "string" && !(input instanceof URL)) {
    const hint = "pass all parts in an array";
    throw new GgufError("parts", { expected: `all ${count} parts of a split file`, got: `part ${number} alone`, hint });
  }
  const parsed = parseSplitName(input instanceof URL ? input.pathname : input);
  if (parsed?.count !== count || parsed.number !== number) {
    throw new GgufError("parts", {
      expected: `the name of part ${number} of ${count} to end in '${splitName({ prefix: "", number, count })}'`,
      got: `'${shownPlace(input)}'`,
      hint: "rename the parts as llama.cpp names them, or pass all of them in an array",
    });
  }
  const part = (wanted: number): string | URL => renamed(input, splitName({ ...parsed, number: wanted }));
  if (number !== 1) {
    const hint = `open '${shownPlace(part(1))}'`;
    throw new GgufError("parts", { expected: "the first part of a split file", got: `part ${number} of ${count}`, hint });
  }
  return Array.from({ length: count - 1 }, (_, i) => part(i + 2));
}

function renamed(input: string | URL, path: string): string | URL {
  if (typeof input === "string") return path;
  const url = new URL(input);
  url.pathname = path;
  return url;
}

function shownPlace(place: string | URL): string {
  return typeof place === "string" ? shownPath(place) : shownUrl(place);
}

/** The parts of one file as one. */
export function join(opened: readonly Part[]): Omit<OpenedParts, "warnings"> {
  const parts = inOrder(opened);
  const { header } = elementAt(parts, 0);
  const names = new Set<string>();
  const tensors: TensorInfo[] = [];
  let base = 0;
  for (const part of parts) {
    if (part.header.byteOrder !== header.byteOrder) {
      throw new GgufError("parts", {
        expected: `every part ${header.byteOrder}-endian`,
        got: `one that is ${part.header.byteOrder}-endian`,
      });
    }
    for (const tensor of part.header.tensors) {
      if (names.has(tensor.name)) {
        throw new GgufError("duplicate", { expected: "every tensor in one part", got: `'${shown(tensor.name)}' in two` });
      }
      names.add(tensor.name);
      tensors.push({ ...tensor, offset: base + tensor.offset });
    }
    base += part.source.size;
  }
  const expected = header.metadata.optionalCount(splitKeys.tensors);
  if (expected !== undefined && expected !== tensors.length) {
    const hint = "the parts are of different files, or one is damaged";
    throw new GgufError("parts", { expected: `${expected} tensors in ${parts.length} parts`, got: String(tensors.length), hint });
  }
  return { source: concatenate(parts.map(({ source }) => source)), header: { ...header, tensors }, parts: parts.length };
}

/** The parts by their own numbers; each once. */
function inOrder(opened: readonly Part[]): readonly Part[] {
  const byNumber = new Map<number, Part>();
  const count = Math.max(...opened.map(({ header }) => partCount(header.metadata)));
  for (const part of opened) {
    const { metadata } = part.header;
    if (partCount(metadata) !== count) {
      throw new GgufError("parts", { expected: `parts of one file of ${count}`, got: `one of a file of ${partCount(metadata) || 1}` });
    }
    const number = metadata.count(splitKeys.no);
    if (byNumber.has(number)) throw new GgufError("parts", { expected: "every part once", got: `part ${number + 1} twice` });
    byNumber.set(number, part);
  }
  const missing = Array.from({ length: count }, (_, i) => i).filter((i) => !byNumber.has(i));
  if (missing.length > 0 || byNumber.size !== count) {
    throw new GgufError("parts", {
      expected: `all ${count} parts`,
      got: `${byNumber.size} without part ${missing
        .slice(0, 8)
        .map((i) => i + 1)
        .join(", ")}${missing.length > 8 ? " and more" : ""}`,
      hint: "pass every part",
    });
  }
  return [...byNumber.entries()].sort(([a], [b]) => a - b).map(([, part]) => part);
}

/** Concatenates sources. Each read is within one of them, because each tensor is. */
function concatenate(sources: readonly ByteSource[]): ByteSource {
  const placed: { readonly start: number; readonly source: ByteSource }[] = [];
  let size = 0;
  for (const source of sources) {
    placed.push({ start: size, source });
    size += source.size;
  }
  const partAt = (offset: number): { readonly start: number; readonly source: ByteSource } =>
    placed.findLast((each) => each.start <= offset) ?? elementAt(placed, 0);
  return {
    size,
    ...(sources.every(({ readInto }) => readInto !== undefined) && {
      async readInto(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void> {
        let done = 0;
        while (done < target.length) {
          const { start, source } = partAt(offset + done);
          const within = offset + done - start;
          const part = target.subarray(done, done + source.size - within);
          await source.readInto?.(part, within, signal);
          done += part.length;
        }
      },
    }),
    async read(offset, length, signal) {
      const { start, source } = partAt(offset);
      const within = offset - start;
      const first = await source.read(within, Math.min(length, source.size - within), signal);
      if (first.length === length) return first;
      const bytes = new Uint8Array(length);
      bytes.set(first);
      bytes.set(await this.read(offset + first.length, length - first.length, signal), first.length);
      return bytes;
    },
    close: () => closeAll(sources.map((source) => ({ source }))),
  };
}
