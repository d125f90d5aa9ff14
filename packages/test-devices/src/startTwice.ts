/**
 * Calls `start` once more if it fails, and returns a message if it fails again. Chromium sometimes crashes at its start: once with a segmentation
 * fault in CI. 180 starts by hand on the same system had no crash.
 */
export async function startTwice<T>(title: string, start: () => Promise<T>): Promise<T | string> {
  try {
    return await start().catch(start);
  } catch (error) {
    return `${title} does not start: ${String(error)}`;
  }
}
