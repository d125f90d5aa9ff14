/** Parameters and specs as text that is equal where they are: a part of cache keys. */
export function structuralKey(value: unknown): string {
  return JSON.stringify(value, keepNumbers);
}

/** JSON has no infinities, NaN or -0; as text they stay apart. */
function keepNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))
    ? `number ${Object.is(value, -0) ? "-0" : value}`
    : value;
}
