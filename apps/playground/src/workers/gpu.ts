/** What WebGPU offers: nothing, a GPU, or one that the CPU emulates, which is slower than the CPU. */
export type GpuKind = "none" | "real" | "emulated";

export async function gpuKind(): Promise<GpuKind> {
  const adapter = await navigator.gpu?.requestAdapter().catch(() => null);
  if (adapter === null || adapter === undefined) return "none";
  const { isFallbackAdapter, architecture, description } = adapter.info;
  return isFallbackAdapter || /swiftshader|llvmpipe/i.test(`${architecture} ${description}`) ? "emulated" : "real";
}
