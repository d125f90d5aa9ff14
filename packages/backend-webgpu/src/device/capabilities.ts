/**
 * A feature that kernels use where a device has it, and that `webgpu({ disabledFeatures })` leaves unused. Names are those of WebGPU and of
 * `navigator.gpu.wgslLanguageFeatures`.
 */
export type OptionalFeature = "subgroups" | "shader-f16" | "packed_4x8_integer_dot_product" | "timestamp-query";

/** A feature outside of the WebGPU standard that `webgpu({ experimental })` uses where the device has it. */
export type ExperimentalFeature = "subgroup-matrix";

export const optionalFeatures: readonly OptionalFeature[] = [
  "subgroups",
  "shader-f16",
  "packed_4x8_integer_dot_product",
  "timestamp-query",
];

export const experimentalFeatures: readonly ExperimentalFeature[] = ["subgroup-matrix"];

/** Limits of a device that decide which kernels and groups it can run. */
export interface KernelLimits {
  /** Storage buffers that a shader stage may bind. */
  readonly maxBindings: number;
  /** Invocations of a workgroup. */
  readonly maxLanes: number;
  /** Bytes of a workgroup's memory. */
  readonly workgroupBytes: number;
}

/** Matrices that the lanes of a subgroup multiply together: `[m, k]` by `[k, n]`. Types are WGSL's. */
export interface SubgroupMatrixShape {
  readonly type: string;
  readonly resultType: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** Features and limits of an open device as plain data. A kernel is a pure function of its call and of these. */
export interface Capabilities extends KernelLimits {
  /** Smallest and largest number of lanes of a subgroup, a power of two. Undefined without subgroup operations. */
  readonly subgroups: { readonly min: number; readonly max: number } | undefined;
  /** Whether WGSL has the type `f16`. */
  readonly f16: boolean;
  /** Whether WGSL has dot products of four packed 8-bit integers, as `dot4I8Packed`. */
  readonly packedDotProducts: boolean;
  /** Whether passes write timestamps, which `plan.profile()` needs. */
  readonly timestamps: boolean;
  /** Empty where subgroups do not multiply matrices, or where that was not asked for. */
  readonly subgroupMatrices: readonly SubgroupMatrixShape[];
}

/** What every device has: the limits that the specification guarantees, and no optional feature. */
export const guaranteed: Capabilities = {
  maxBindings: 8,
  maxLanes: 256,
  workgroupBytes: 2 ** 14,
  subgroups: undefined,
  f16: false,
  packedDotProducts: false,
  timestamps: false,
  subgroupMatrices: [],
};

const subgroupMatrixFeature = "chromium-experimental-subgroup-matrix" as GPUFeatureName;

/** A shape of subgroup matrices as Dawn lists it. */
interface SubgroupMatrixConfig {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/** Returns the features to ask an adapter for. */
export function featuresOf(
  { features }: GPUAdapter,
  disabled: readonly OptionalFeature[],
  experimental: readonly ExperimentalFeature[],
): GPUFeatureName[] {
  const wanted = optionalFeatures.filter((feature) => !disabled.includes(feature));
  const matrices = experimental.includes("subgroup-matrix") ? [subgroupMatrixFeature] : [];
  return [...wanted, ...matrices].filter((feature) => features.has(feature)) as GPUFeatureName[];
}

/** Limits that let kernels do more where they are larger. */
const usefulLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** Returns the limits to ask an adapter for. */
export function limitsOf({ limits }: GPUAdapter): Record<string, number> {
  return Object.fromEntries(usefulLimits.map((name) => [name, limits[name]]));
}

/** Returns what kernels may use of a device. Language features come with the entry point, so they are not asked for. */
export function capabilitiesOf(
  device: GPUDevice,
  { info }: GPUAdapter,
  { wgslLanguageFeatures }: GPU,
  disabled: readonly OptionalFeature[],
): Capabilities {
  const { features, limits } = device;
  const { subgroupMinSize: min = 4, subgroupMaxSize: max = 128 } = info;
  const { subgroupMatrixConfigs = [] } = info as { readonly subgroupMatrixConfigs?: readonly SubgroupMatrixConfig[] };
  const packedDot: OptionalFeature = "packed_4x8_integer_dot_product";
  return {
    maxBindings: limits.maxStorageBuffersPerShaderStage,
    maxLanes: Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
    workgroupBytes: limits.maxComputeWorkgroupStorageSize,
    subgroups: features.has("subgroups") ? { min, max } : undefined,
    f16: features.has("shader-f16"),
    packedDotProducts: wgslLanguageFeatures.has(packedDot) && !disabled.includes(packedDot),
    timestamps: features.has("timestamp-query"),
    subgroupMatrices: features.has(subgroupMatrixFeature) ? subgroupMatrixConfigs.map(shapeOf) : [],
  };
}

function shapeOf({ componentType, resultComponentType, M, N, K }: SubgroupMatrixConfig): SubgroupMatrixShape {
  return { type: componentType, resultType: resultComponentType, m: M, n: N, k: K };
}

/**
 * Lanes that exchange values in registers: neighbours from a multiple of their number on. Devices that choose the size of subgroups per
 * kernel have at least these.
 */
export function subgroupLanes({ subgroups }: Capabilities): number {
  return subgroups?.min ?? 1;
}
