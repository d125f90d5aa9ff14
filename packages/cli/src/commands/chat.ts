import { chatWith } from "../chat/chatWith.ts";
import { type Command, command } from "../command.ts";
import { generateOptions, readGenerateOptions } from "../generateOptions.ts";
import { withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { text } from "../options.ts";
import { UsageError } from "../usageError.ts";

/** `centella chat [FILE]`: a conversation, turn by turn. */
export const chat: Command = command({
  name: "chat",
  arguments: "[FILE]",
  summary: "talk with a model, turn by turn",
  details: "Each line of stdin is a turn, and /help lists the commands. When the context is full, the oldest turns are left out.",
  options: {
    system: text("TEXT", "system message", { aliases: ["-sys", "--system-prompt"] }),
    ...generateOptions,
    ...modelOptions,
  },
  async run(values, positionals, context) {
    const [file, ...rest] = withFile(values, positionals);
    if (rest.length > 0) throw new UsageError(`chat: expected at most one FILE, got ${rest.length + 1}`);
    // Wrong values are reported before the model is loaded.
    readGenerateOptions(values);
    await withModel(file, values, context, (loaded) => chatWith(loaded, values.system, values, context));
  },
});
