import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { commandOf } from "../src/chat/chatCommands.ts";
import { History } from "../src/chat/history.ts";
import { TurnAssembler } from "../src/chat/turns.ts";
import { centella, expectOneLine, tiny } from "./centella.ts";
import { hasPty, type Steps, typed } from "./terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-chat-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string): string => join(folder, name);
const messagesOf = (path: string): readonly { readonly role: string; readonly content: string }[] => JSON.parse(readFileSync(path, "utf8"));

describe("turns", () => {
  const turnsOf = (...lines: readonly string[]): readonly string[] => {
    const assembler = new TurnAssembler();
    const turns = lines.flatMap((line) => assembler.push(line) ?? []);
    return [...turns, ...[assembler.flush() ?? []].flat()];
  };

  test.each([
    [
      ["a", "b"],
      ["a", "b"],
    ],
    [
      ["a\\", "b\\", "c", "d"],
      ["a\nb\nc", "d"],
    ],
    [
      ['"""', "a", "", "b", '"""', "c"],
      ["a\n\nb", "c"],
    ],
    [
      ['"""a', 'b"""', "c"],
      ["a\nb", "c"],
    ],
    [['"""a"""'], ["a"]],
    [['"""', "a\\", '"""'], ["a\\"]],
    [['"""', "no end"], ["no end"]],
    [
      ['"""', '"""', "a"],
      ["", "a"],
    ],
    [["a\\"], ["a"]],
  ])("%j", (lines, turns) => {
    expect(turnsOf(...lines)).toEqual(turns);
  });
});

test("a slash begins a command, but neither a path nor a slash after a space does", () => {
  expect(commandOf("/set top-k 20")).toMatchObject({ argument: "top-k 20" });
  expect(commandOf("/bye")?.command).toBe(commandOf("/exit")?.command);
  for (const text of ["/etc/hosts", " /help", "a /help", "/"]) expect(commandOf(text)).toBeUndefined();
  expect(() => commandOf("/foo bar")).toThrow("/foo: no such command; /help lists the commands");
});

describe("history", () => {
  test("lasts over runs, latest first, readable by its owner alone", () => {
    const path = file("deep/history");
    const history = new History(path);
    expect(history.read()).toEqual([]);
    for (const line of ["one", " ", "two", "x".repeat(20_000)]) history.add(line);
    expect(new History(path).read()).toEqual(["two", "one"]);
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("is bounded", () => {
    const path = file("long");
    writeFileSync(path, Array.from({ length: 2001 }, (_, i) => `line ${i}\n`).join(""));
    expect(new History(path).read()).toHaveLength(1000);
    expect(readFileSync(path, "utf8").split("\n")).toHaveLength(1001);
    expect(new History(path).read()[0]).toBe("line 2000");
  });

  test("does without a file where there can be none", () => {
    const history = new History(join(file("long"), "history"));
    history.add("line");
    expect(history.read()).toEqual([]);
  });
});

describe("a chat from a pipe", () => {
  const args = ["chat", tiny, "-n", "8", "--temp", "0", "--repeat-penalty", "1.3", "--backend", "wasm"];
  const chat = (...lines: readonly string[]) => centella(args, { input: lines.join("\n") });

  test("answers turn by turn and remembers", async () => {
    const both = await chat("Tell me of a cat.", "Tell me of a cat.");
    expect(both).toMatchObject({ code: 0, stderr: "" });
    const [first, second, end] = both.stdout.split("\n");
    expect(end).toBe("");
    const alone = await chat("Tell me of a cat.", "/exit", "Tell me of a dog.");
    expect(alone.stdout).toBe(`${first}\n`);
    expect(second).not.toBe(first);
  });

  test("/clear, /regen, /system and several lines", async () => {
    const path = file("clear.json");
    const { code, stdout } = await chat("One.", "/clear", '"""', "Tell me", 'of a cat."""', "/regen", `/save ${path}`);
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(3);
    expect(messagesOf(path)).toEqual([
      { role: "user", content: "Tell me\nof a cat." },
      { role: "assistant", content: expect.any(String) },
    ]);
  });

  test("/set changes an option, and names the option in its errors", async () => {
    const { stdout, stderr } = await chat(
      "/set tokens 2",
      "/set top_p 2",
      "/set topk 3",
      "/set temp x",
      "/set",
      "/set temperature default",
      "/set",
    );
    expect(stdout).toBe("tokens 2\ntemperature 0\nrepeat-penalty 1.3\ntokens 2\nrepeat-penalty 1.3\n");
    expect(stderr.split("\n")).toEqual([
      "centella: --top-p: expected a number in 0 … 1, got 2",
      "centella: /set: expected the name of a generation option, got topk; Tab completes names, and centella chat --help lists them",
      "centella: --temperature: expected a number, got x",
      "",
    ]);
  });

  test("/save and /load carry a chat over, and neither write nor read files of other programs", async () => {
    const path = file("saved.json");
    await chat("Tell me of a cat.", `/save ${path}`);
    const other = file("other.txt");
    writeFileSync(other, "mine");
    const again = file("again.json");
    const { code, stderr } = await chat(
      `/load ${other}`,
      `/save ${other}`,
      "/load nowhere",
      `/save ${file("no folder/x.json")}`,
      `/load ${path}`,
      `/save ${path}`,
      `/save ${again}`,
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/\/load: expected a JSON list of .* got .*other\.txt/);
    expect(stderr).toMatch(/expected a new file, got .*other\.txt', which exists/);
    expect(stderr).toMatch(/cannot open '.*nowhere': no such file or directory/);
    expect(stderr).toMatch(/cannot write '.*x\.json': no such file or directory/);
    expect(readFileSync(other, "utf8")).toBe("mine");
    expect(messagesOf(again)).toEqual(messagesOf(path));
  });

  test("a chat that fills its context drops its oldest turns, says so, and goes on", async () => {
    const { code, stdout, stderr } = await centella([...args, "-c", "64"], { input: "Tell me of a cat.\n".repeat(8) });
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(8);
    expect(stderr).toMatch(/^\(the context is full: the \d+ oldest messages were left out; --context makes room for more\)$/m);
  });

  test("--overflow shift goes on as well", async () => {
    const { code, stdout } = await centella([...args, "-c", "64", "-n", "100", "--overflow", "shift"], {
      input: "Tell me of a cat.\n".repeat(4),
    });
    expect(code).toBe(0);
    expect(stdout.trim().split("\n").length).toBeGreaterThanOrEqual(4);
  });

  test("the error for a turn that is too long by itself names command line options, and later turns are answered", async () => {
    const long = "cat ".repeat(200);
    const goesOn = await centella([...args, "-c", "64"], { input: `${long}\nHello.\n` });
    expect(goesOn.code).toBe(0);
    expect(goesOn.stderr).toMatch(
      /^centella: prompt: expected fewer tokens than the context of 64, got \d+; shorten it, or raise --context$/m,
    );
    expect(goesOn.stdout.trim()).not.toBe("");
    const ends = await centella([...args, "-c", "64"], { input: `Hello.\n${long}\n` });
    expect(ends.code).toBe(1);
    expect(ends.stderr).toMatch(/centella: chat: the last turn was not answered\n$/);
    const refuses = await centella([...args, "-c", "64", "--overflow", "error"], { input: "Tell me of a cat.\n".repeat(8) });
    expect(refuses.code).toBe(1);
    expect(refuses.stderr).toMatch(/raise --context/);
  });

  test("usage", async () => {
    expectOneLine(await centella(["chat", "a", "b"]), /at most one FILE, got 2/, 2);
  });
});

describe.skipIf(!hasPty)("a chat on a terminal (skipped where python3 has no pty)", () => {
  const onTerminal = (args: readonly string[], steps: Steps) => typed(args, steps, { XDG_STATE_HOME: folder });

  beforeEach(() => rmSync(file("centella"), { recursive: true, force: true }));
  const chat = (...steps: Steps) => onTerminal(["chat", tiny, "-n", "4"], steps);
  /** A chat whose answers do not end by themselves. */
  const endless = ["chat", tiny, "-s", "1", "--temp", "2", "--logit-bias", "4:-inf", "--overflow", "shift"];

  test("says what is loaded, shows how far loading is, and asks", async () => {
    const { shown, code } = await chat(["> ", "/help\r"], ["Ctrl-C stops", ""], ["> ", "\x04"]);
    expect(code).toBe(0);
    expect(shown).toMatch(/\[#{24}\] 100 % {2}2\.\d MB of 2\.\d MB/);
    expect(shown).toContain("Fable Tiny 2M · Q8_0 · wasm · context of 1024 tokens\r\n/help lists commands, Ctrl-D ends the chat");
    expect(shown).toContain("/save FILE");
  });

  test("run FILE without a prompt chats", async () => {
    const { shown, code } = await onTerminal(
      ["run", tiny, "-n", "4"],
      [
        ["> ", "Hello.\r"],
        ["(the answer reached --tokens)", ""],
        ["> ", "/exit\r"],
      ],
    );
    expect({ code, isChat: shown.includes("/help lists commands") }).toEqual({ code: 0, isChat: true });
  });

  test("a paste of several lines is one turn", async () => {
    const path = file("paste.json");
    const { code } = await chat(
      ["> ", "\x1b[200~one\rtwo\n\tthree\r\n\x1b[201~"],
      ["three", "!\r"],
      ["> ", `/save ${path}\r`],
      ["> ", "\x04"],
    );
    expect(code).toBe(0);
    expect(messagesOf(path)[0]!.content).toBe("one\ntwo\n\tthree!");
  });

  test("a paste may come in pieces, and keys after it are keys", async () => {
    const path = file("pieces.json");
    const pieces: Steps = [
      ["> ", "\x1b[20"],
      ["", "0~one\r"],
      ["", "two\x1b[2"],
      ["", "01~\x7fO\r"],
      ["(the answer", ""],
      ["> ", `/save ${path}\r`],
      ["> ", "\x04"],
    ];
    expect((await chat(...pieces)).code).toBe(0);
    expect(messagesOf(path)[0]!.content).toBe("one\ntwO");
  });

  test("lines are remembered over runs", async () => {
    await chat(["> ", "Tell me of a cat.\r"], ["(the answer", ""], ["> ", "/exit\r"]);
    const path = file("remembered.json");
    await chat(["> ", "\x1b[A\x1b[A\r"], ["(the answer", ""], ["> ", `/save ${path}\r`], ["> ", "/exit\r"]);
    expect(messagesOf(path)[0]!.content).toBe("Tell me of a cat.");
  });

  test("Ctrl-C drops what is typed, and twice ends the chat where nothing is", async () => {
    const { shown, code } = await chat(["> ", "never sent\x03"], ["> ", "\x03"], ["(Ctrl-C again", ""], ["> ", "\x03"]);
    expect(code).toBe(0);
    expect(shown).not.toContain("(the answer");
  });

  test("Ctrl-C stops an answer and keeps it, and keys typed meanwhile are not lost", async () => {
    const path = file("stopped.json");
    const { shown, code } = await onTerminal(endless, [
      ["> ", "Tell me a long tale.\r"],
      [".", `/save ${path}\r`],
      [" ", "\x03"],
      ["(stopped)", ""],
      ["saved", ""],
      ["> ", "\x04"],
    ]);
    expect(code).toBe(0);
    expect(shown).toContain("(stopped)");
    const [user, answer] = messagesOf(path);
    expect(user!.content).toBe("Tell me a long tale.");
    expect(answer!.content.length).toBeGreaterThan(0);
  });

  test("Ctrl-D typed before the answer ends the chat after it", async () => {
    const { shown, code } = await chat(["> ", "Hello.\r\x04"]);
    expect({ code, isAnswered: shown.includes("(the answer reached") }).toEqual({ code: 0, isAnswered: true });
    const late = await chat(["> ", "Hello.\r"], ["Hello.", "\x04"]);
    expect({ code: late.code, isAnswered: late.shown.includes("(the answer reached") }).toEqual({ code: 0, isAnswered: true });
  });

  test("two Ctrl-C during an answer end the chat", async () => {
    const { shown, code } = await onTerminal(endless, [
      ["> ", "Tell me a long tale.\r"],
      [" ", "\x03\x03"],
    ]);
    expect({ code, isStopped: shown.includes("(stopped)") }).toEqual({ code: 0, isStopped: true });
  });

  test("a second Ctrl-C after the one that stopped an answer ends the chat", async () => {
    const { shown, code } = await onTerminal(endless, [
      ["> ", "Tell me a long tale.\r"],
      [" ", "\x03"],
      ["(stopped)", ""],
      ["> ", "\x03"],
    ]);
    expect({ code, isAsked: shown.includes("Ctrl-C again") }).toEqual({ code: 0, isAsked: false });
  });

  test("escapes in a file's name and tensors are shown, not obeyed, by every command that prints them", async () => {
    const clear = "\x1b[2J";
    const bytes = readFileSync(tiny);
    for (const name of ["Fable Tiny 2M", "blk.0.attn_q.weight"]) bytes.write(clear, bytes.indexOf(name));
    const path = file(`${clear}.gguf`);
    writeFileSync(path, bytes);
    for (const args of [
      ["inspect", path],
      ["run", path, "-p", "x", "-n", "1"],
      ["bench", path, "-p", "4", "-n", "1", "-r", "1"],
    ]) {
      const { shown } = await onTerminal(args, []);
      expect(shown, args[0]).not.toContain(clear);
      expect(shown, args[0]).toContain("[2J");
    }
  });

  test("Tab completes commands and the names of options", async () => {
    const { shown } = await chat(
      ["> ", "/sy\t"],
      ["/system ", "Be brief.\r"],
      ["> ", "/set top-n\t"],
      ["/set top-n-sigma", " 1\r"],
      ["> ", "/system\r"],
      ["Be brief.", "/set\r"],
      ["top-n-sigma 1", ""],
      ["> ", "\x04"],
    );
    expect(shown).toContain("Be brief.\r\n");
  });
});
