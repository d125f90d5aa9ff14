import { ArgumentError } from "@centella/core";
import { expect, test } from "vitest";
import { StopStrings } from "../src/index.ts";

/** The rule by definition: the earliest end of any stop string, the longest of those that end there. */
function cutByDefinition(text: string, stops: readonly string[]): { text: string; stopped?: string } {
  for (let end = 1; end <= text.length; end++) {
    const complete = stops.filter((stop) => text.slice(0, end).endsWith(stop)).sort((a, b) => b.length - a.length);
    const stopped = complete[0];
    if (stopped !== undefined) return { text: text.slice(0, end - stopped.length), stopped };
  }
  return { text };
}

function run(pieces: readonly string[], stops: readonly string[]): { text: string; stopped?: string } {
  const watcher = new StopStrings(stops);
  let text = "";
  for (const piece of pieces) {
    const result = watcher.push(piece);
    text += result.text;
    if (result.stopped !== undefined) return { text, stopped: result.stopped };
  }
  return { text: text + watcher.flush() };
}

test("withholds only text that could begin a stop string", () => {
  const watcher = new StopStrings(["</end>", "User:"]);
  expect(watcher.push("Hello <")).toEqual({ text: "Hello " });
  expect(watcher.push("/en")).toEqual({ text: "" });
  expect(watcher.push("try> Us")).toEqual({ text: "</entry> " });
  expect(watcher.push("er: hi")).toEqual({ text: "", stopped: "User:" });
  expect(watcher.push("more")).toEqual({ text: "", stopped: "User:" });
});

test("flush returns an unfinished beginning and starts over", () => {
  const watcher = new StopStrings(["abc"]);
  expect(watcher.push("xab")).toEqual({ text: "x" });
  expect(watcher.flush()).toBe("ab");
  expect(watcher.push("c")).toEqual({ text: "c" });
});

test("equals the definition for every text of three letters, however it is cut", () => {
  const sets = [["aba", "bb"], ["ab", "b"], ["aab", "ab", "abc"], ["cc", "acb", "a"], []];
  for (const stops of sets) {
    for (let n = 0; n < 3 ** 6; n++) {
      const text = n
        .toString(3)
        .padStart(6, "0")
        .replace(/./g, (digit) => "abc"[Number(digit)]!);
      const expected = cutByDefinition(text, stops);
      for (const size of [1, 2, 5]) {
        const pieces = text.match(new RegExp(`.{1,${size}}`, "g")) ?? [];
        expect(run(pieces, stops)).toEqual(expected);
      }
    }
  }
});

test("never cuts a surrogate pair in two", () => {
  const watcher = new StopStrings(["😀!"]);
  expect(watcher.push("😀")).toEqual({ text: "" });
  expect(watcher.push("😁")).toEqual({ text: "😀😁" });
});

test("an empty stop string is an error", () => {
  expect(() => new StopStrings(["a", ""])).toThrow(ArgumentError);
});
