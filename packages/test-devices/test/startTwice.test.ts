import { expect, test } from "vitest";
import { startTwice } from "../src/startTwice.ts";

/** A `start` that fails the first times, and the number of its calls. */
function failing(failures: number): { readonly start: () => Promise<{ name: string }>; starts: number } {
  const counted = {
    starts: 0,
    async start() {
      if (++counted.starts <= failures) throw new Error(`crash ${counted.starts}`);
      return { name: "browser" };
    },
  };
  return counted;
}

test("a browser that starts is started once", async () => {
  const counted = failing(0);
  expect(await startTwice("Chromium", counted.start)).toEqual({ name: "browser" });
  expect(counted.starts).toBe(1);
});

test("a browser that crashes while it starts is started again", async () => {
  const counted = failing(1);
  expect(await startTwice("Chromium", counted.start)).toEqual({ name: "browser" });
  expect(counted.starts).toBe(2);
});

test("a browser that never starts gives the last reason", async () => {
  const counted = failing(2);
  expect(await startTwice("Chromium", counted.start)).toBe("Chromium does not start: Error: crash 2");
  expect(counted.starts).toBe(2);
});
