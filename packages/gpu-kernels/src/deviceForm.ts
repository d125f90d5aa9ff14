import { type ConcreteSpec, type DType, UnsupportedError } from "@centella/core";
import { elementCount, isQuantized, type Lowered, layoutOf } from "@centella/core/backend";
import { type BlockType, blockLayout, recode, recodedForm, type TypeLayout } from "@centella/quant";

/** What blocks become that are recoded when they are loaded, as in "4-bit codes"; undefined for dtypes that memory holds in stored form. */
export function recodedTo(dtype: DType): string | undefined {
  const form = isQuantized(dtype) ? recodedForm(dtype) : undefined;
  return form && `${form.layout.codeBits}-bit codes`;
}

/** @throws {UnsupportedError} for an output of a dtype that device memory does not hold in stored form */
export function requireStoredOutputs(backend: string, { outputs }: Lowered): void {
  for (const { name, operand } of outputs) {
    const form = recodedTo(operand.spec.dtype);
    if (form === undefined) continue;
    const reason = `the device holds ${operand.spec.dtype} tensors as ${form}; save() returns their stored form`;
    throw new UnsupportedError(`${backend}: output ${name}`, reason);
  }
}

/** The blocks of a type in device memory. */
export function deviceBlock(type: BlockType): Pick<TypeLayout, "blockElements" | "blockBytes"> {
  return recodedForm(type) ?? blockLayout(type);
}

/** Bytes of a tensor in device memory. */
export function deviceBytes({ dtype, shape }: ConcreteSpec): number {
  const form = isQuantized(dtype) ? recodedForm(dtype) : undefined;
  const { elements, bytes } = form === undefined ? layoutOf(dtype) : { elements: form.blockElements, bytes: form.blockBytes };
  return (elementCount(shape) / elements) * bytes;
}

/** Stored blocks or elements as device memory holds them; the same array unless they are recoded. */
export function toDevice(dtype: DType, stored: Uint8Array): Uint8Array {
  return isQuantized(dtype) && recodedForm(dtype) !== undefined ? recode(dtype, stored) : stored;
}
