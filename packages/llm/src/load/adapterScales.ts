import { ArgumentError } from "@centella/core";
import { checkValue, type Kind, printable, within } from "@centella/quant/checks";

/** Scales of a model's named adapters, by name. Those that are left out are 0. */
export type AdapterScales = Readonly<Record<string, number>>;

/** The named adapters that tokens are computed with. */
export interface AppliedAdapters {
  /** Scales other than 0, by name. */
  readonly byName: AdapterScales;
  /** A scale for each of the model's named adapters, in their order. */
  readonly scales: readonly number[];
  /** Texts with the same key have the same scales. */
  readonly key: string;
}

/** A finite f32. */
export const scaleKind: Kind = within(-3.4028234663852886e38, 3.4028234663852886e38);

/**
 * The adapters that are applied; undefined if all scales are 0.
 * @param names the model's named adapters
 * @throws {ArgumentError} for other names, and scales that are not finite
 */
export function appliedAdapters(where: string, given: AdapterScales, names: readonly string[]): AppliedAdapters | undefined {
  for (const [name, scale] of Object.entries(given)) {
    if (!names.includes(name)) {
      const expected = names.length === 0 ? "no adapters, because the model has none" : `adapters among ${names.join(", ")}`;
      throw new ArgumentError(where, expected, printable(name), "load the model with it, under this name");
    }
    checkValue(`${where}.adapters.${printable(name)}`, scale, scaleKind);
  }
  const scales = names.map((name) => (Object.hasOwn(given, name) ? (given[name] ?? 0) : 0));
  const applied = names.map((name, i) => [name, scales[i] ?? 0] as const).filter(([, scale]) => scale !== 0);
  return applied.length === 0 ? undefined : { byName: Object.fromEntries(applied), scales, key: scales.join() };
}
