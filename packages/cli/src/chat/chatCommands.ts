import { generateOptions } from "../generateOptions.ts";
import { kebab } from "../kebab.ts";
import type { OptionSpecs } from "../options.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usageError.ts";
import type { Conversation } from "./conversation.ts";

/** What a command of a chat works with. */
interface ChatContext {
  readonly conversation: Conversation;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** A line that begins with a slash. */
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
      output.print('\n""" begins and ends a message of several lines; a backslash at the end of a line continues it.');
      output.print("Ctrl-C stops an answer and keeps it; pressed again it ends the chat, as Ctrl-D does.");
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
    summary: "set an option of generation, such as temperature or top-k, or show those that are set",
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
    summary: "go on with the messages of a file",
    async run(argument, { conversation }) {
      await conversation.load(fileOf("load", argument));
      return undefined;
    },
  },
  exit: { usage: "/exit", summary: "end the chat", run: () => "exit" },
};

const aliases: Readonly<Record<string, string>> = { bye: "exit", quit: "exit", "?": "help", reset: "clear", retry: "regen" };

/** The command that a turn calls, with its argument. Text such as `/etc/hosts` is no command. @throws {UsageError} if there is no such command */
export function commandOf(turn: string): { readonly command: ChatCommand; readonly argument: string } | undefined {
  const [, name, argument = ""] = /^\/([a-z?]+)(?:\s+([\s\S]*))?$/.exec(turn.trimEnd()) ?? [];
  if (name === undefined) return undefined;
  const command = chatCommands[aliases[name] ?? name];
  if (command === undefined)
    throw new UsageError(`/${name}: no such command; /help lists them, and a space before the slash makes it a message`);
  return { command, argument };
}

/** readline's completion of commands and of the names of options. */
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

/** `top-k 20`, `topK 20` and `top_k=20` as an option that is given. `default` takes it back. */
function setting(argument: string, specs: OptionSpecs): Readonly<Record<string, unknown>> {
  const [, given, value] = /^-*([^\s=]+)(?:\s*=\s*|\s+|$)([\s\S]*)$/.exec(argument) ?? [];
  const name = Object.keys(specs).find((one) => {
    const { short, aliases: others = [] } = specs[one]!;
    return [one, short, ...others.map((other) => other.replace(/^-+/, ""))].includes(kebab(given ?? "").replaceAll("_", "-"));
  });
  if (name === undefined) throw new UsageError(`/set: expected one of ${Object.keys(specs).join(", ")}, got ${given}`);
  if (value === "default") return { [name]: undefined };
  const spec = specs[name]!;
  if (value === "" && spec.value !== undefined) throw new UsageError(`/set ${name}: expected a value, got none`);
  return { [name]: spec.parse(value ?? "", name) };
}

function settings(values: Readonly<Record<string, unknown>>): readonly string[] {
  const given = Object.entries(values).filter(([name, value]) => name in generateOptions && value !== undefined);
  if (given.length === 0) return ["nothing is set: the model's defaults apply"];
  return given.map(([name, value]) => `${name} ${value === true ? "" : String(value)}`.trimEnd());
}
