import { UnsupportedError } from "@centella/core";
import { isRequired } from "@centella/test-devices";
import { describe, test } from "vitest";

/**
 * Describes tests of the device or backend that `opening` opens. On a machine without one, they are skipped with the reason, unless
 * `REQUIRE_BACKENDS` names webgpu, as it does in CI.
 */
export async function describeOpened<T>(title: string, opening: Promise<T>, tests: (opened: T) => void): Promise<void> {
  try {
    const opened = await opening;
    describe(title, () => tests(opened));
  } catch (error) {
    if (!(error instanceof UnsupportedError) || isRequired("webgpu")) throw error;
    test.skip(`${title} (skipped: ${error.reason})`);
  }
}
