import type { TensorSpec } from "@centella/core";
import { type AnyOp, lower, type ProgramGraph } from "@centella/core/backend";
import { projectedSteps } from "@centella/gpu-kernels";
import type { Capabilities } from "../../src/device/capabilities.ts";
import { fusionLimits, kernelTableFor } from "../../src/kernels/index.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";
import { dispatchesOf } from "../../src/plan/compile.ts";

const matrices = [{ type: "f16", resultType: "f32", m: 16, n: 16, k: 16 }] as const;

/** What an H200 has through Dawn on Vulkan, subgroup matrices included. */
export const h200: Capabilities = {
  maxBindings: 12,
  maxLanes: 1024,
  workgroupBytes: 48 * 2 ** 10,
  subgroups: { min: 32, max: 32 },
  f16: true,
  packedDotProducts: true,
  timestamps: true,
  subgroupMatrices: matrices,
};

/** A dispatch and the op that it computes. */
export interface NamedDispatch {
  readonly op: string;
  readonly dispatch: Dispatch;
}

/** What a device with some capabilities dispatches, without the device. */
export class Dispatches {
  readonly #capabilities: Capabilities;
  readonly #kernels: ReturnType<typeof kernelTableFor>;
  readonly #fusion: ReturnType<typeof fusionLimits>;

  constructor(capabilities: Capabilities) {
    this.#capabilities = capabilities;
    this.#kernels = kernelTableFor(capabilities);
    this.#fusion = fusionLimits(capabilities);
  }

  /** The dispatches of one call; none if it has no kernel. */
  ofCall(op: AnyOp, inputs: readonly (TensorSpec | undefined)[], params: object, output: TensorSpec): readonly NamedDispatch[] {
    if (op.alias === true || this.#kernels.unsupported(op, inputs, params, output) !== undefined) return [];
    const dispatches = this.#kernels.kernelOf(op)?.dispatches({ inputs, output }, params) ?? [];
    return dispatches.map((dispatch) => ({ op: op.name, dispatch }));
  }

  /** The dispatches of a program. @throws {UnsupportedError} naming a node that has no kernel */
  ofProgram(program: ProgramGraph): readonly NamedDispatch[] {
    const { unsupported } = this.#kernels;
    const lowered = lower(program, "webgpu", unsupported, { fusion: this.#fusion, memoryModel: "buffers" });
    const dispatches = dispatchesOf(lowered, this.#kernels, this.#capabilities, projectedSteps(lowered));
    return dispatches.map(({ step, dispatch }) => ({ op: step.op.name, dispatch }));
  }
}
