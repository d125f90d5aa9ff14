import { type ChatStart, chatWith } from "../chat/chatWith.ts";
import { isTyped } from "../chat/turnSource.ts";
import { type Command, command } from "../command.ts";
import { generateOptions, readGenerateOptions } from "../generateOptions.ts";
import { withModel } from "../loading.ts";
import { readMcpFile } from "../mcp/mcpFile.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { flag, grouped, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

/** `centella chat [FILE]`: a conversation, turn by turn. */
export const chat: Command = command({
  name: "chat",
  arguments: "[FILE]",
  summary: "talk with a model, turn by turn",
  details: "Each line of stdin is a turn, and /help lists the commands. When the context is full, the oldest turns are left out.",
  options: {
    system: text("TEXT", "system message", { aliases: ["-sys", "--system-prompt"] }),
    ...grouped("Tools that run (servers of the Model Context Protocol)", {
      mcp: text("FILE", 'let the model call tools of servers: JSON { "mcpServers": { NAME: { "command" or "url" } } }'),
      yes: flag("run calls without asking", { short: "y" }),
    }),
    ...generateOptions,
    ...modelOptions,
  },
  async run(values, positionals, context) {
    const [file, ...rest] = withFile(values, positionals);
    if (rest.length > 0) throw new UsageError(`chat: expected at most one FILE, got ${rest.length + 1}`);
    // Wrong values are reported before the model is loaded.
    readGenerateOptions(values);
    const start = { system: values.system, values, ...mcpOf(values) };
    await withModel(file, values, context, (loaded) => chatWith(loaded, start, context));
  },
});

/** @throws {UsageError | ArgumentError} for options without the other, and a wrong file */
function mcpOf({ mcp, yes = false }: { readonly mcp?: string; readonly yes?: boolean }): Pick<ChatStart, "connect"> {
  if (mcp === undefined) {
    if (yes) throw new UsageError("--yes: expected --mcp with it, got none");
    return {};
  }
  if (!yes && !isTyped()) throw new UsageError("--mcp: expected --yes where nobody can be asked before a call, got none");
  const servers = readMcpFile(mcp);
  return {
    async connect(ask, signal) {
      const [{ McpServers }, { askBefore }] = await Promise.all([import("../mcp/mcpServers.ts"), import("../mcp/approval.ts")]);
      return McpServers.connect(servers, yes ? async () => undefined : askBefore(ask), signal);
    },
  };
}
