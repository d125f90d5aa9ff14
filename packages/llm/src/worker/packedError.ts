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
import { GrammarError } from "@centella/grammar/errors";
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

/** Classes by their `name` property. A minifier renames classes, but not these keys. */
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
  GrammarError,
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

/** An error in a form that can be sent to another thread. Cloning would lose its class and its fields. */
export type PackedError =
  | { readonly type: "known"; readonly fields: Readonly<Record<string, unknown>>; readonly cause: PackedError | undefined }
  | { readonly type: "other"; readonly value: unknown };

export function packError(error: unknown): PackedError {
  if (!(error instanceof Error && Object.hasOwn(classes, error.name))) return { type: "other", value: cloneable(error) };
  const { message, stack, cause } = error;
  const { cause: _, ...fields } = { ...error, message, stack };
  return { type: "known", fields, cause: cause === undefined ? undefined : packError(cause) };
}

/** The error as an instance of its class. */
export function unpackError(packed: PackedError): unknown {
  if (packed.type === "other") return packed.value;
  const { fields, cause } = packed;
  const error = new Error(String(fields.message), cause && { cause: unpackError(cause) });
  Object.setPrototypeOf(error, classes[String(fields.name)]?.prototype ?? Error.prototype);
  return Object.assign(error, fields);
}

/** The value, or an error with its text if it cannot be cloned. */
function cloneable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return new Error(String(value));
  }
}
