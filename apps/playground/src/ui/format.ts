const units = ["B", "kB", "MB", "GB", "TB"];

/** Bytes in the unit that gives the shortest number: `13.0 MB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

const whole = new Intl.NumberFormat("en");

export function formatCount(count: number): string {
  return whole.format(count);
}

export function formatRate(tokensPerSecond: number): string {
  return tokensPerSecond.toFixed(tokensPerSecond < 100 ? 1 : 0);
}

export function formatMs(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
