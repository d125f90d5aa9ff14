import { generateOptions } from "../generateOptions.ts";
import { kebab } from "../kebab.ts";
import type { OptionSpecs } from "../options.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usageError.ts";
import type { Conversation } from "./conversation.ts";

/** State that chat commands work with. */
interface ChatContext {
  readonly conversation: Conversation;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** A command of a chat, called by a line such as `/help`. */
interface ChatCommand {
  readonly usage: string;
  readonly summary: string;
  /** Returns "exit" to end the chat. @throws {UsageError} */
  run(argument: string, context: ChatContext): Promise<"exit" | undefined> | "exit" | undefined;
}

const chatCommands: Readonly<Record<string, ChatCommand>> = {
  help: {
    usage: "/help",
    summary: "list the commands",
    run(_argument, { output }) {
      const width = Math.max(...Object.values(chatCommands).map(({ usage }) => usage.length));
      for (const { usage, summary } of Object.values(chatCommands)) output.print(`${usage.padEnd(width)}  ${summary}`);
      output.print('\n""" starts and ends a message of several lines. A backslash at the end of a line continues it.');
      output.print("Ctrl-C stops an answer and keeps it. Pressed again, it ends the chat, as Ctrl-D does.");
      return undefined;
    },
  },
  clear: {
    usage: "/clear",
    summary: "start over; the system message stays",
    run(_argument, { conversation, output }) {
      conversation.clear();
      output.warn("cleared");
      return undefined;
    },
  },
  regen: {
    usage: "/regen",
    summary: "answer the last message again",
    async run(_argument, { conversation, interrupt }) {
      await conversation.regenerate(interrupt);
      return undefined;
    },
  },
  system: {
    usage: "/system [TEXT]",
    summary: "set the system message, or show it",
    run(argument, { conversation, output }) {
      if (argument === "") output.print(conversation.system ?? "no system message");
      else conversation.system = argument;
      return undefined;
    },
  },
  set: {
    usage: "/set [NAME VALUE]",
    summary: "set a generation option such as temperature or top-k, or show the options that are set",
    run(argument, { conversation, output }) {
      if (argument === "") for (const line of settings(conversation.values)) output.print(line);
      else conversation.values = { ...conversation.values, ...setting(argument, generateOptions) };
      return undefined;
    },
  },
  save: {
    usage: "/save FILE",
    summary: "write the messages as JSON",
    async run(argument, { conversation }) {
      await conversation.save(fileOf("save", argument));
      return undefined;
    },
  },
  load: {
    usage: "/load FILE",
    summary: "continue with the messages of a file",
    async run(argument, { conversation }) {
      await conversation.load(fileOf("load", argument));
      return undefined;
    },
  },
  exit: { usage: "/exit", summary: "end the chat", run: () => "exit" },
};

const aliases: Readonly<Record<string, string>> = { bye: "exit", quit: "exit", "?": "help", reset: "clear", retry: "regen" };

/** Returns the command that a turn calls, and its argument. Text such as `/etc/hosts` is not a command. @throws {UsageError} for an unknown command */
export function commandOf(turn: string): { readonly command: ChatCommand; readonly argument: string } | undefined {
  const [, name, argument = ""] = /^\/([a-z?]+)(?:\s+([\s\S]*))?$/.exec(turn.trimEnd()) ?? [];
  if (name === undefined) return undefined;
  const command = chatCommands[aliases[name] ?? name];
  if (command === undefined)
    throw new UsageError(`/${name}: no such command; /help lists the commands, and a space before the slash makes it a message`);
  return { command, argument };
}

/** Completes commands and names of options, for readline. */
export function complete(line: string): [string[], string] {
  const [, name] = /^\/set +([\w-]*)$/.exec(line) ?? [];
  if (name !== undefined) return [Object.keys(generateOptions).filter((option) => option.startsWith(name)), name];
  if (!/^\/[a-z]*$/.test(line)) return [[], line];
  return [Object.keys(chatCommands).flatMap((command) => (`/${command}`.startsWith(line) ? [`/${command} `] : [])), line];
}

function fileOf(command: string, argument: string): string {
  if (argument === "") throw new UsageError(`/${command}: expected a FILE, got none`);
  return argument;
}

/** Parses `top-k 20`, `topK 20` or `top_k=20` into an option. The value `default` unsets it. */
function setting(argument: string, specs: OptionSpecs): Readonly<Record<string, unknown>> {
  const [, given, value] = /^-*([^\s=]+)(?:\s*=\s*|\s+|$)([\s\S]*)$/.exec(argument) ?? [];
  const found = Object.entries(specs).find(([one, { short, aliases: others = [] }]) => {
    return [one, short, ...others.map((other) => other.replace(/^-+/, ""))].includes(kebab(given ?? "").replaceAll("_", "-"));
  });
  if (found === undefined)
    throw new UsageError(
      `/set: expected the name of a generation option, got ${given}; Tab completes names, and centella chat --help lists them`,
    );
  const [name, spec] = found;
  if (value === "default") return { [name]: undefined };
  if (value === "" && spec.value !== undefined) throw new UsageError(`/set ${name}: expected a value, got none`);
  return { [name]: spec.parse(value ?? "", name) };
}

function settings(values: Readonly<Record<string, unknown>>): readonly string[] {
  const given = Object.entries(values).filter(([name, value]) => name in generateOptions && value !== undefined);
  if (given.length === 0) return ["no option is set: the model's defaults apply"];
  return given.map(([name, value]) => `${name} ${value === true ? "" : String(value)}`.trimEnd());
}
