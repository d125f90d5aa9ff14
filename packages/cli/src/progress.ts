import type { Output } from "./output.ts";

/** Status line with the progress of bytes. */
export class ProgressBar {
  readonly #label: string;
  readonly #output: Output;
  readonly #startedAt = performance.now();
  #drawnAt = Number.NEGATIVE_INFINITY;
  #first: number | undefined;

  constructor(label: string, output: Output) {
    this.#label = label;
    this.#output = output;
  }

  /** Draws the bytes so far and, if known, in total. */
  update(done: number, total: number | undefined): void {
    if (!this.#output.showsStatus) return;
    this.#first ??= done;
    const now = performance.now();
    if (done !== total && now - this.#drawnAt < 100) return;
    this.#drawnAt = now;
    const rate = (done - this.#first) / Math.max(1e-3, (now - this.#startedAt) / 1000);
    this.#output.status(`${this.#label} ${formatProgress(done, total, rate)}`);
  }

  end(): void {
    this.#output.clearStatus();
  }
}

const barWidth = 24;

/** `[########                ]  33 %  1.2 of 3.6 GB  55 MB/s`; `rate` in bytes per second. */
export function formatProgress(done: number, total: number | undefined, rate: number): string {
  if (total === undefined || total === 0) return `${formatSize(done)}  ${formatSize(rate)}/s`;
  const share = Math.min(1, done / total);
  const filled = Math.floor(share * barWidth);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${"#".repeat(filled).padEnd(barWidth)}] ${percent} %  ${formatSize(done)} of ${formatSize(total)}  ${formatSize(rate)}/s`;
}

/** Bytes in units of 1000, as downloads and disks count. */
export function formatSize(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? Math.round(size) : size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}
