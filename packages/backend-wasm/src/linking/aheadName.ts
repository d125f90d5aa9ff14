/** Name of the function of a plan's key in `base.wasm`: see `ahead.ts`. */
export function aheadName(key: string): string {
  return `ahead ${key}`;
}
