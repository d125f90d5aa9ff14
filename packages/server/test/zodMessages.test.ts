import { expect, test } from "vitest";
import * as zod from "zod";
import { post, TestModel } from "./serving.ts";

// The first schema of this form sets English messages for the whole process.
zod.string();

const served = await TestModel.forFile();
const handler = served.handler({});

const messages = [{ role: "user", content: "Hello" }];

const king = { role: "king", content: "" };

test.each([
  ["a type", "/v1/chat/completions", { messages, temperature: "hot" }, 'temperature: expected a number, got "hot"'],
  [
    "a choice",
    "/v1/chat/completions",
    { messages: [king] },
    expect.stringMatching(/^messages\[0\]\.role: expected "system" or .*, got "king"$/),
  ],
  [
    "an item of a response",
    "/v1/responses",
    { input: [king] },
    expect.stringMatching(/^input\[0\]\.role: expected "user" or .*, got "king"$/),
  ],
])("the messages that other code sets for zod do not replace the server's: %s", async (_, path, body, message) => {
  expect(zod.config().localeError).toBeTypeOf("function");
  const response = await post(handler, path, body);
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toEqual(message);
});
