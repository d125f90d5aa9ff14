import { parseArgs } from "node:util";
import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { type BackendFactory, openCandidates, reference } from "@centella/core";
import { decode } from "./suites/decode.ts";
import { matmul } from "./suites/matmul.ts";

const suites = ["matmul", "decode"] as const;
const all: readonly BackendFactory[] = [cuda(), webgpu(), wasm(), reference()];

const { values } = parseArgs({ options: { backend: { type: "string", multiple: true }, suite: { type: "string", multiple: true } } });
const wanted = pick(
  "--backend",
  values.backend,
  all.map(({ name }) => name),
);
const chosen = pick("--suite", values.suite, suites);

void main();

async function main(): Promise<void> {
  const factories = all.filter(({ name }) => wanted.includes(name));
  const candidates = await openCandidates(factories);
  for (const { name, backend, unavailable } of candidates) console.log(`${name}: ${backend?.device.name ?? `skipped, ${unavailable}`}`);
  const backends = candidates.flatMap(({ backend }) => backend ?? []);
  try {
    if (chosen.includes("matmul")) console.log(`\n${await matmul(backends)}`);
  } finally {
    for (const backend of backends) await backend.dispose();
  }
  const open = factories.filter(({ name }) => backends.some((backend) => backend.name === name));
  if (chosen.includes("decode")) console.log(`\n${await decode(open)}`);
}

/** The given names, or all; an unknown one ends the program. */
function pick(option: string, given: readonly string[] | undefined, known: readonly string[]): readonly string[] {
  const unknown = given?.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    console.error(`bench: ${option}: expected one of ${known.join(", ")}, got ${unknown}`);
    process.exit(2);
  }
  return given ?? known;
}
