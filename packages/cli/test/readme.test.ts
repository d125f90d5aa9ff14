import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commandOf } from "../src/chat/chatCommands.ts";
import type { Command } from "../src/command.ts";
import { loadCommands } from "../src/commands/index.ts";
import { optionsOf } from "../src/program.ts";

const commands = await loadCommands();

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

test("every command is in the README", () => {
  const shown = ({ name, aliases = [] }: Command): boolean => [name, ...aliases].some((one) => readme.includes(`centella ${one}`));
  expect(commands.filter((command) => !shown(command)).map(({ name }) => name)).toEqual(["version"]);
});

test("every option of the README exists", () => {
  const spellings = commands.flatMap((command) =>
    Object.entries(optionsOf(command)).flatMap(([name, { short, aliases = [] }]) => [`--${name}`, `-${short}`, ...aliases]),
  );
  const known = new Set(spellings);
  const mentioned = [...readme.matchAll(/(?<=[\s`])(--[a-z][a-z-]+|-[a-z]+)(?=[\s`=,])/g)].map(([option]) => option);
  expect(mentioned.length).toBeGreaterThan(40);
  expect(mentioned.filter((option) => !known.has(option) && !["-g", "--help"].includes(option))).toEqual([]);
});

test("every command of a chat in the README exists", () => {
  const mentioned = [...readme.matchAll(/`(\/[a-z]+)/g)].map(([, name]) => name!);
  expect(mentioned.length).toBeGreaterThan(7);
  for (const name of mentioned) expect(commandOf(name), name).toBeDefined();
});
