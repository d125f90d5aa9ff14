import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { loadCommands } from "../src/commands/index.ts";
import { completionScript } from "../src/completion.ts";

const commands = await loadCommands();

const has = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;
const run = (shell: string, script: string): string => spawnSync(shell, ["-c", script], { encoding: "utf8" }).stdout.trim();

describe.skipIf(!has("bash"))("bash (skipped where there is none)", () => {
  const complete = (...words: readonly string[]): string => {
    const line = words.map((word) => `'${word}'`).join(" ");
    return run(
      "bash",
      `${completionScript("bash", commands)}\nCOMP_WORDS=(centella ${line}); COMP_CWORD=${words.length}; _centella; echo "\${COMPREPLY[@]}"`,
    );
  };

  test("commands and their aliases, options and their spellings, and values", () => {
    expect(complete("qu")).toBe("quantize");
    expect(complete("sh")).toBe("show");
    expect(complete("run", "--ov")).toBe("--overflow");
    expect(complete("run", "--ctx")).toBe("--ctx-size");
    expect(complete("run", "-ng")).toBe("-ngl");
    expect(complete("run", "--overflow", "")).toBe("stop shift error");
    expect(complete("chat", "--overflow", "s")).toBe("stop shift");
    expect(complete("run", "mod")).toBe("");
  });
});

test.skipIf(!has("zsh"))("zsh accepts its script (skipped where there is none)", () => {
  expect(spawnSync("zsh", ["-n"], { input: completionScript("zsh", commands), encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
});

test.skipIf(!has("fish"))("fish completes (skipped where there is none)", () => {
  const complete = (line: string): string =>
    run("fish", `${completionScript("fish", commands)}\ncomplete -C '${line}'`).replaceAll(/\t.*/g, "");
  expect(complete("centella qu")).toBe("quantize");
  expect(complete("centella run --ov")).toBe("--overflow");
  expect(complete("centella run --overflow ")).toBe("error\nshift\nstop");
});

test("every option of every command is in every script", () => {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    const script = completionScript(shell, commands);
    for (const { name, options } of commands)
      for (const option of Object.keys(options))
        expect(script, `${shell} ${name}`).toContain(shell === "fish" ? `-l ${option}` : `--${option}`);
  }
});
