/**
 * What `start` gives; where it fails, what a second start gives, or the reason in words. Browsers rarely crash while they start: a Chromium has
 * ended by a segmentation fault in CI, and none of 180 that were started beside each other on the same system.
 */
export async function startTwice<T>(title: string, start: () => Promise<T>): Promise<T | string> {
  try {
    return await start().catch(start);
  } catch (error) {
    return `${title} does not start: ${String(error)}`;
  }
}
