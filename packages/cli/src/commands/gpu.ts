import { openRuntime } from "../backends.ts";
import { type Command, command, requireArguments } from "../command.ts";
import { flag } from "../options.ts";

/** `centella gpu`: which backends and devices this machine has. */
export const gpu: Command = command({
  name: "gpu",
  aliases: ["devices"],
  arguments: "",
  summary: "show which backends can be used here, on which device, and why the others cannot",
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
