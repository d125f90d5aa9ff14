import type { Runtime } from "@centella/core";
import type { GridSize } from "@centella/test-devices";

/** What a backend is held to. */
export interface ModelSuiteOptions {
  /** Results do not depend on batch sizes, bit for bit. */
  readonly isExact: boolean;
  /**
   * "small" leaves the larger files out, and sessions unless `size` is "all"; "smoke" nearly everything. Default: "smoke" for software GPUs,
   * else "all".
   */
  readonly scope?: "all" | "small" | "smoke";
  /**
   * "sample" runs each family with one batch size, each type in one arithmetic, and no session. "full" has fewer families and types on
   * software GPUs only. The other cases are skipped. Default: "all".
   */
  readonly size?: GridSize;
}

/** One backend's runtime and what it is held to. */
export interface SuiteContext extends Required<ModelSuiteOptions> {
  readonly runtime: Runtime;
}
