import type { Runtime } from "@centella/core";

/** What a backend is held to. */
export interface ModelSuiteOptions {
  /** Results do not depend on batch sizes, bit for bit. */
  readonly isExact: boolean;
  /** "small" leaves the larger files out, "smoke" nearly everything. Default: "smoke" for software GPUs, else "all". */
  readonly scope?: "all" | "small" | "smoke";
  /** Whether each family runs with one batch size, each type in one arithmetic, and no session; the other cases are skipped. Default: false. */
  readonly isSample?: boolean;
}

/** One backend's runtime and what it is held to. */
export interface SuiteContext extends Required<ModelSuiteOptions> {
  readonly runtime: Runtime;
}
