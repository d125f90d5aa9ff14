import type { Runtime } from "@centella/core";

/** What a backend is held to. */
export interface ModelSuiteOptions {
  /** Results do not depend on batch sizes, bit for bit. */
  readonly isExact: boolean;
  /** "small" leaves the larger files out, and sessions of samples; "smoke" nearly everything. Default: "smoke" for software GPUs, else "all". */
  readonly scope?: "all" | "small" | "smoke";
  /**
   * Whether to run each family with one batch size, each type in one arithmetic, and no session; on software GPUs only some families and types.
   * The other cases are skipped. Default: false.
   */
  readonly isSample?: boolean;
}

/** One backend's runtime and what it is held to. */
export interface SuiteContext extends Required<ModelSuiteOptions> {
  readonly runtime: Runtime;
}
