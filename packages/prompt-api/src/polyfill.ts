import { boolean, check, object } from "@centella/quant/checks";
import { createLanguageModel, type LanguageModelClass, type LanguageModelOptions } from "./createLanguageModel.ts";

/** Options of {@link polyfill}. */
export type PolyfillOptions = LanguageModelOptions & {
  /** Install it even if the browser has a `LanguageModel` of its own. Default false. */
  readonly force?: boolean | undefined;
};

/**
 * Installs `LanguageModel` as a global, unless there is one. Returns the one that is installed, or undefined if the browser's own stays.
 * @throws {ArgumentError} as {@link createLanguageModel}
 */
export function polyfill(options: PolyfillOptions): LanguageModelClass | undefined {
  check("polyfill", "options", options, object);
  const { force = false, ...own } = options;
  check("polyfill", "force", force, boolean);
  const value = createLanguageModel(own as LanguageModelOptions);
  if ("LanguageModel" in globalThis && !force) return undefined;
  Object.defineProperty(globalThis, "LanguageModel", { value, configurable: true, enumerable: false, writable: true });
  return value;
}
