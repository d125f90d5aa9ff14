import { type Kind, within } from "@centella/quant/checks";

/** Longest time of a timer in milliseconds, 24.8 days: JavaScript's timers with a longer one fire at once. */
export const longestMs = 2 ** 31 - 1;

/** Kind of a time in milliseconds from `min` on. */
export const milliseconds = (min: number): Kind => within(min, longestMs);
