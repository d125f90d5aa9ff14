import { byteArray, check, floatArray, typedArray } from "../checks.ts";
import { dequantize } from "../dequantize/dequantize.ts";
import { QuantError } from "../errors.ts";
import { halfAt } from "../floats/half.ts";
import { iq1MStep } from "../types/iq1_m.ts";
import { iq1SStep } from "../types/iq1_s.ts";
import { iq2Step } from "../types/iq2_xs.ts";
import { iq2XxsStep } from "../types/iq2_xxs.ts";
import { iq3SStep } from "../types/iq3_s.ts";
import { iq3XxsStep } from "../types/iq3_xxs.ts";
import { halvedE4m3 } from "../types/nvfp4.ts";
import { type BlockType, blockLayout, rowBytes } from "../types/types.ts";

/** Returns the step of run `run` of 16 weights in the block at byte `at`. Each of these weights is -128 to 127 times the step. */
type StepOf = (bytes: Uint8Array, at: number, run: number) => number;

const stepsOf: Readonly<Partial<Record<BlockType, StepOf>>> = {
  q1_0: halfAt,
  q2_0: halfAt,
  q8_1: halfAt,
  iq1_s: iq1SStep,
  iq1_m: iq1MStep,
  iq2_xxs: iq2XxsStep,
  iq2_xs: (bytes, at, run) => iq2Step(bytes, at, 66, run),
  iq2_s: (bytes, at, run) => iq2Step(bytes, at, 74, run),
  iq3_xxs: iq3XxsStep,
  iq3_s: iq3SStep,
  tq1_0: (bytes, at) => halfAt(bytes, at + 52),
  tq2_0: (bytes, at) => halfAt(bytes, at + 64),
  nvfp4: (bytes, at, run) => halvedE4m3(bytes[at + run]!),
  q8_K: (bytes, at) => new DataView(bytes.buffer, bytes.byteOffset + at).getFloat32(0, true),
};

/**
 * Splits weights into integers and steps: weight `i` is `codes[i] * steps[i >> 4]`. The product has the bits that {@link dequantize} returns,
 * unless a scale is infinite or NaN. `bytes` are whole blocks; there is one code per weight and one step per 16 weights. For codebook and
 * ternary types, nvfp4, q1_0, q2_0, q8_1 and q8_K.
 * @throws {QuantError} `unsupported-type` for the remaining types, `length` if lengths do not agree
 */
export function toSteps(type: BlockType, bytes: Uint8Array, codes: Int8Array, steps: Float32Array): void {
  blockLayout(type);
  check("toSteps", "bytes", bytes, byteArray);
  check("toSteps", "codes", codes, typedArray(Int8Array));
  check("toSteps", "steps", steps, floatArray);
  const stepOf = stepsOf[type];
  if (stepOf === undefined)
    throw new QuantError("unsupported-type", `toSteps: expected a codebook or ternary type, nvfp4, q1_0, q2_0, q8_1 or q8_K, got ${type}`);
  if (bytes.length !== rowBytes(type, codes.length) || steps.length * 16 !== codes.length) {
    throw new QuantError(
      "length",
      `toSteps: expected ${rowBytes(type, codes.length)} bytes and ${codes.length / 16} steps, got ${bytes.length} and ${steps.length}`,
    );
  }
  const { blockElements, blockBytes } = blockLayout(type);
  const values = new Float32Array(blockElements);
  for (let at = 0, first = 0; at < bytes.length; at += blockBytes, first += blockElements) {
    dequantize(type, bytes.subarray(at, at + blockBytes), values);
    for (let run = 0; run < blockElements / 16; run++) {
      const step = stepOf(bytes, at, run);
      steps[first / 16 + run] = step;
      for (let i = 16 * run; i < 16 * run + 16; i++) {
        const value = values[i]!;
        // A step of zero has no multiples. The code keeps the sign of the zero.
        codes[first + i] = step === 0 ? (Object.is(value, -0) === Object.is(step, -0) ? 1 : -1) : Math.round(value / step);
      }
    }
  }
}
