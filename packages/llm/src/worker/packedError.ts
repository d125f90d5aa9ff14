import {
  ArgumentError,
  CentellaError,
  DeviceLostError,
  DisposedError,
  DTypeError,
  KernelError,
  NotLoadedError,
  OutOfMemoryError,
  ProgramError,
  ShapeError,
  UnsupportedError,
} from "@centella/core";
import { GgufError } from "@centella/gguf";
import { QuantError } from "@centella/quant";
import {
  BusyError,
  ChatTemplateError,
  ContextOverflowError,
  LlmError,
  ModelError,
  SamplingError,
  SnapshotError,
  TokenizerError,
  UnsupportedArchitectureError,
} from "../errors.ts";

/** By what their `name` says: a minifier renames classes, not these keys. */
const classes: Readonly<Record<string, { readonly prototype: Error }>> = {
  ArgumentError,
  BusyError,
  CentellaError,
  ChatTemplateError,
  ContextOverflowError,
  DTypeError,
  DeviceLostError,
  DisposedError,
  GgufError,
  KernelError,
  LlmError,
  ModelError,
  NotLoadedError,
  OutOfMemoryError,
  ProgramError,
  QuantError,
  SamplingError,
  ShapeError,
  SnapshotError,
  TokenizerError,
  UnsupportedArchitectureError,
  UnsupportedError,
};

/** An error on its way to another thread: cloning keeps neither its class nor its fields. */
export type PackedError =
  | { readonly type: "known"; readonly fields: Readonly<Record<string, unknown>>; readonly cause: PackedError | undefined }
  | { readonly type: "other"; readonly value: unknown };

export function packError(error: unknown): PackedError {
  if (!(error instanceof Error && Object.hasOwn(classes, error.name))) return { type: "other", value: cloneable(error) };
  const { message, stack, cause } = error;
  const { cause: _, ...fields } = { ...error, message, stack };
  return { type: "known", fields, cause: cause === undefined ? undefined : packError(cause) };
}

/** The error, of its class. */
export function unpackError(packed: PackedError): unknown {
  if (packed.type === "other") return packed.value;
  const { fields, cause } = packed;
  const error = new Error(String(fields.message), cause && { cause: unpackError(cause) });
  Object.setPrototypeOf(error, classes[String(fields.name)]!.prototype);
  return Object.assign(error, fields);
}

/** What cannot be cloned is told as text. */
function cloneable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return new Error(String(value));
  }
}
