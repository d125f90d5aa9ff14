import { openRuntime } from "../backends.ts";
import { type Command, command, requireArguments } from "../command.ts";
import { flag } from "../options.ts";

/** `centella gpu`: the backends and devices of this machine. */
export const gpu: Command = command({
  name: "gpu",
  aliases: ["devices"],
  arguments: "",
  summary: "show the backends and devices of this machine, and why the other backends cannot be used",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, { output }) {
    requireArguments("gpu", [], positionals);
    const runtime = await openRuntime();
    try {
      const backends = runtime.candidates.map(({ name, backend, unavailable }) => ({
        name,
        device: backend?.device.name,
        kind: backend?.device.kind,
        unavailable,
      }));
      if (values.json) output.print(JSON.stringify({ backends }));
      else
        for (const { name, device, kind, unavailable } of backends)
          output.print(`${name.padEnd(10)} ${unavailable === undefined ? `${kind}: ${device}` : `not available: ${unavailable}`}`);
    } finally {
      await runtime.dispose();
    }
  },
});
