import type { Dispatch, Resource } from "../../src/kernels/shared/kernel.ts";
import { runDispatches } from "./runDispatches.ts";

/** Runs the dispatches of a call without symbolic dims. Inputs are in device form. Returns the output, of `outputBytes`. */
export async function runCall(
  device: GPUDevice,
  dispatches: readonly Dispatch[],
  inputs: readonly Uint8Array<ArrayBuffer>[],
  outputBytes: number,
): Promise<ArrayBuffer> {
  const contents: Record<string, Uint8Array<ArrayBuffer> | number> = { output: outputBytes };
  const tables: Uint32Array[] = [];
  /** The name of a buffer, whose content it adds. */
  const bufferOf = (resource: Resource): string => {
    switch (resource.kind) {
      case "input":
        contents[`input${resource.index}`] = inputs[resource.index]!;
        return `input${resource.index}`;
      case "scratch": {
        const name = `scratch${resource.slot ?? 0}`;
        contents[name] = Math.max((contents[name] as number | undefined) ?? 0, 4 * Math.ceil(resource.bytes / 4));
        return name;
      }
      case "table": {
        if (!tables.includes(resource.words)) tables.push(resource.words);
        const name = `table${tables.indexOf(resource.words)}`;
        contents[name] = new Uint8Array(Uint32Array.from(resource.words).buffer);
        return name;
      }
      default:
        return resource.kind;
    }
  };
  const bound = dispatches.map((dispatch) => ({
    dispatch,
    buffers: Object.fromEntries(dispatch.bindings.map(({ name, resource }) => [name, bufferOf(resource)])),
  }));
  const [output] = await runDispatches(device, bound, contents, ["output"]);
  return output!;
}
