const bits = new DataView(new ArrayBuffer(8));

/** An f32 literal in PTX's exact form: `0f` and the bits in hex. */
export function f32Literal(value: number): string {
  bits.setFloat32(0, value);
  return `0f${hex(bits.getUint32(0))}`;
}

/** An f64 literal in PTX's exact form: `0d` and the bits in hex. */
export function f64Literal(value: number): string {
  bits.setFloat64(0, value);
  return `0d${hex(bits.getUint32(0))}${hex(bits.getUint32(4))}`;
}

/** Each `.target` that kernels are emitted for, the lowest first. */
export const targets = ["sm_80", "sm_90", "sm_90a"] as const;

/** A `.target`. */
export type Target = (typeof targets)[number];

/** A feature of PTX beyond sm_80, and what it needs. Sources: the PTX ISA's "PTX ISA Notes" and "Target ISA Notes" of each instruction. */
export type Feature =
  | "bulkCopy"
  | "tensorMap"
  | "cluster"
  | "multicast"
  | "dependentLaunch"
  | "matrixStore"
  | "warpgroupMatrix"
  | "registerBudget";

const needs: Readonly<Record<Feature, { readonly target: Target; readonly version: string }>> = {
  bulkCopy: { target: "sm_90", version: "8.0" },
  tensorMap: { target: "sm_90", version: "8.0" },
  cluster: { target: "sm_90", version: "8.0" },
  // sm_90 has it too, but ptxas warns that devices to come may be slow at it.
  multicast: { target: "sm_90a", version: "8.0" },
  dependentLaunch: { target: "sm_90", version: "7.8" },
  matrixStore: { target: "sm_90", version: "7.8" },
  warpgroupMatrix: { target: "sm_90a", version: "8.0" },
  registerBudget: { target: "sm_90a", version: "8.0" },
};

/** The `.version` of every kernel: CUDA 12.0, old enough for any driver in use, new enough for Hopper's instructions. */
export const ptxVersion = "8.0";

/**
 * The `.target` of a text that uses `features` on a device of `target`. Devices newer than sm_90 run texts for sm_90, but none for sm_90a: only
 * texts that need its features name it.
 */
export function textTarget(target: Target, features: ReadonlySet<Feature>): Target {
  const isSpecific = [...features].some((feature) => needs[feature].target === "sm_90a");
  return target === "sm_90a" && !isSpecific ? "sm_90" : target;
}

/** Whether a text names a target whose features other devices, older and newer, do not have. */
export function isSpecificText(ptx: string): boolean {
  return ptx.includes("\n.target sm_90a\n");
}

/** Blocks of a cluster of a text's launches along each axis: 1 where the text does not say. */
export function clusterOf(ptx: string): readonly [number, number, number] {
  const [x = 1, y = 1, z = 1] = /\.reqnctapercluster\s+([\d\s,]+)/.exec(ptx)?.[1]?.split(",").map(Number) ?? [];
  return [x, y, z];
}

/** Why a kernel for `target` may not use `feature`; undefined if it may. */
export function missingFor(feature: Feature, target: Target): string | undefined {
  const { target: needed, version } = needs[feature];
  if (targets.indexOf(target) >= targets.indexOf(needed) && Number(version) <= Number(ptxVersion)) return undefined;
  return `${feature} needs ${needed} and PTX ${version}, the kernel is for ${target} and PTX ${ptxVersion}`;
}

function hex(word: number): string {
  return word.toString(16).toUpperCase().padStart(8, "0");
}
