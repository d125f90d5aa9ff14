import { type Command, command, requireArguments } from "../command.ts";
import { flag } from "../options.ts";

/** `centella ps`: says that no models run, for users of Ollama. */
export const ps: Command = command({
  name: "ps",
  arguments: "",
  summary: "list running models (always none: centella has no server)",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, { output }) {
    requireArguments("ps", [], positionals);
    if (values.json) output.print(JSON.stringify({ models: [] }));
    else {
      output.print("no running models: centella has no server, and a model is unloaded when its command ends");
      output.print("centella chat FILE keeps a model loaded for a conversation; centella models lists stored models");
    }
  },
});
