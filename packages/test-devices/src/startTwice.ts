/**
 * Calls `start`, and calls it again if it fails. Returns the reason in words if it fails twice. Browsers rarely crash while they start: one
 * Chromium ended with a segmentation fault in CI, and none of 180 that were started by hand on the same system.
 */
export async function startTwice<T>(title: string, start: () => Promise<T>): Promise<T | string> {
  try {
    return await start().catch(start);
  } catch (error) {
    return `${title} does not start: ${String(error)}`;
  }
}
