import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { PasteFilter } from "../src/chat/pasteFilter.ts";

test("keys typed before a question do not answer it", async () => {
  const terminal = Object.assign(new PassThrough(), { setRawMode: () => undefined });
  const filter = new PasteFilter(terminal);
  let interrupts = 0;
  let passed = "";
  filter.setEncoding("utf8").on("data", (keys: string) => {
    passed += keys;
  });
  const type = async (keys: string, expected: string) => {
    await new Promise<void>((resolve) => terminal.write(keys, () => resolve()));
    await expect.poll(() => passed).toBe(expected);
  };

  await type("Feed the fox.\r", "Feed the fox.\r");
  filter.hold(() => interrupts++);
  await type("y\r", "Feed the fox.\r");
  const holdAgain = filter.pass();
  await type("no\r", "Feed the fox.\rno\r");
  holdAgain();
  await type("wait\x03", "Feed the fox.\rno\r");
  await expect.poll(() => interrupts).toBe(1);
  filter.release();
  await expect.poll(() => passed).toBe("Feed the fox.\rno\ry\rwait");
  filter.detach();
});
