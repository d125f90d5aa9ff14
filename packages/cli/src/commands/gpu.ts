import { setTimeout as delay } from "node:timers/promises";
import { type DeviceReadings, readDevices } from "@centella/backend-cuda";
import { UnsupportedError } from "@centella/core";
import { openRuntime } from "../backends.ts";
import { type Command, type Context, command, requireArguments } from "../command.ts";
import { deviceHeadings, deviceRow } from "../deviceTable.ts";
import { flag } from "../options.ts";

const watchIntervalMs = 1000;

/** `centella gpu`: the backends and devices of this machine. */
export const gpu: Command = command({
  name: "gpu",
  aliases: ["devices"],
  arguments: "",
  summary: "show the backends and devices of this machine, and why the other backends cannot be used",
  options: {
    watch: flag("print memory, utilisation, clocks, temperature and power of NVIDIA devices every second until Ctrl-C"),
    json: flag("print one JSON object; with --watch, one a second"),
  },
  async run(values, positionals, { output, signal }) {
    requireArguments("gpu", [], positionals);
    const isJson = values.json === true;
    if (values.watch) await watch(isJson, { output, signal });
    else await show(isJson, output);
  },
});

async function show(isJson: boolean, output: Context["output"]): Promise<void> {
  // Before a backend takes memory of a device.
  const nvidia = await readings();
  const runtime = await openRuntime();
  try {
    const backends = runtime.candidates.map(({ name, backend, unavailable }) => ({
      name,
      device: backend?.device.name,
      kind: backend?.device.kind,
      unavailable,
    }));
    if (isJson) {
      output.print(JSON.stringify({ backends, nvidia }));
      return;
    }
    for (const { name, device, kind, unavailable } of backends)
      output.print(`${name.padEnd(10)} ${unavailable === undefined ? `${kind}: ${device}` : `not available: ${unavailable}`}`);
    output.print("");
    if ("unavailable" in nvidia) {
      output.print(`no NVIDIA GPU: ${nvidia.unavailable}`);
      return;
    }
    output.print(`NVIDIA driver ${nvidia.driverVersion}`);
    output.print(deviceHeadings);
    for (const device of nvidia.devices) output.print(deviceRow(device));
  } finally {
    await runtime.dispose();
  }
}

/** Until the signal is aborted. @throws {UnsupportedError} if there is no device to watch */
async function watch(isJson: boolean, { output, signal }: Context): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const nvidia = await readDevices();
    if (isJson) output.print(JSON.stringify({ time: new Date().toISOString(), ...nvidia }));
    else {
      if (isFirst) output.print(deviceHeadings);
      for (const device of nvidia.devices) output.print(deviceRow(device));
    }
    await delay(watchIntervalMs, undefined, { signal });
  }
}

/** What the NVIDIA devices report, or the reason why there are none. */
async function readings(): Promise<DeviceReadings | { readonly unavailable: string }> {
  try {
    return await readDevices();
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return { unavailable: error.reason };
  }
}
