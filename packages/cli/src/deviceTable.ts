import type { DeviceReading } from "@centella/backend-cuda";
import { formatSize } from "./progress.ts";

/** A column of the table: its heading, and its text for a device. */
interface Column {
  readonly heading: string;
  readonly width: number;
  readonly text: (reading: DeviceReading) => string | undefined;
}

const columns: readonly Column[] = [
  { heading: "gpu", width: 4, text: ({ index }) => String(index) },
  { heading: "memory used", width: 20, text: ({ usedBytes, totalBytes }) => ofTotal(usedBytes, totalBytes) },
  { heading: "busy", width: 7, text: ({ utilization }) => withUnit(utilization, "%") },
  { heading: "clock", width: 10, text: ({ clockMHz }) => withUnit(clockMHz, "MHz") },
  { heading: "memory clock", width: 14, text: ({ memoryClockMHz }) => withUnit(memoryClockMHz, "MHz") },
  { heading: "temperature", width: 13, text: ({ temperatureC }) => withUnit(temperatureC, "°C") },
  { heading: "power", width: 7, text: ({ powerW }) => withUnit(powerW, "W") },
];

/** Headings of {@link deviceRow}. */
export const deviceHeadings: string = `${columns.map(({ heading, width }) => heading.padStart(width)).join("")}  name`;

/** A line about a device. Values that the device does not report are a dash. */
export function deviceRow(reading: DeviceReading): string {
  return `${columns.map(({ width, text }) => (text(reading) ?? "-").padStart(width)).join("")}  ${reading.name}`;
}

function ofTotal(used: number | undefined, total: number | undefined): string | undefined {
  return used === undefined || total === undefined ? undefined : `${formatSize(used)} of ${formatSize(total)}`;
}

function withUnit(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${Math.round(value)} ${unit}`;
}
