import { isGgmlType } from "@centella/quant";
import { callback, either, isRecord, type Kind, type Kinds, kind, string, whole } from "@centella/quant/checks";
import type { HttpOptions } from "./http/request.ts";
import { limits } from "./limits.ts";
import type { ByteSource } from "./source/byteSource.ts";

/** An open file, recognised by the members that are used. */
export const ggufFile: Kind = kind(
  "an open file, as readGguf() returns it",
  (value) => isRecord(value) && Array.isArray(value.tensors) && isRecord(value.metadata) && typeof value.readTensor === "function",
);

/** A tensor of a file. */
export const tensorInfo: Kind = kind(
  "a name, or a tensor of the file",
  (value) =>
    typeof value === "string" ||
    (isRecord(value) && isGgmlType(value.type as string) && isSize(value.offset) && isSize(value.bytes) && isSize(value.elements)),
);

/** A source of bytes that can also be written. */
export const editableSource: Kind = kind(
  "a source { size, read, write }",
  (value) => hasMethods(value, ["read", "write"], ["stream", "close"]) && isSize((value as ByteSource).size),
);

/** Whether an object has the required methods, and no other values in place of the optional ones. */
export function hasMethods(value: unknown, required: readonly string[], optional: readonly string[] = []): boolean {
  if (!isRecord(value)) return false;
  const isMethod = (name: string): boolean => typeof value[name] === "function";
  return required.every(isMethod) && optional.every((name) => value[name] === undefined || isMethod(name));
}

const storageMethods = ["names", "size", "input", "write", "rename", "remove", "freeBytes", "lock"];

/** A storage of pulled models. */
export const modelStorage: Kind = kind("a storage such as await diskStorage()", (value) => hasMethods(value, storageMethods, ["sync"]));

/** A URL, as text or as an object. */
export const url: Kind = either(
  string,
  kind("a URL", (value) => value instanceof URL),
);

/** An object of strings, such as headers. */
const texts = kind("an object of strings", (value) => isRecord(value) && Object.values(value).every((one) => typeof one === "string"));

export const httpKinds: Kinds<HttpOptions> = {
  headers: texts,
  fetch: callback,
  retries: whole(0),
  backoffMs: whole(0, limits.timerMs),
  stallMs: whole(1, limits.timerMs),
};

function isSize(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
