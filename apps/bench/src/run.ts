import type { Backend } from "@centella/core";
import { openCandidates } from "@centella/core/backend";
import { elementAt } from "@centella/quant/checks";
import { type BenchedBackend, backendsWith } from "./backends.ts";
import { measureGpuCopy } from "./ceilings/gpu.ts";
import { type Ceiling, fasterCeilings, measureCeilings } from "./ceilings/measure.ts";
import { describeCommit, describeMachine, type Machine } from "./machine.ts";
import { oursModel } from "./models/ours.ts";
import { peers as knownPeers } from "./peers/index.ts";
import type { Peer, PeerAdapter } from "./peers/peer.ts";
import { deriveRow, digits } from "./receipts/derive.ts";
import { type Receipt, type ReceiptRow, receiptVersion } from "./receipts/receipt.ts";
import { receiptRow } from "./receipts/receiptRow.ts";
import { repositoryFolder } from "./receipts/store.ts";
import { measureRows, normalSettings, type Progress, quickSettings } from "./runner/measure.ts";
import type { Suite, SuiteContext } from "./suites/suite.ts";
import { ours } from "./tasks/ours.ts";

/** What to measure. */
export interface RunOptions {
  readonly suites: readonly Suite[];
  /** Names of backends; undefined means all except optional ones. */
  readonly backends: readonly string[] | undefined;
  /** Names of peers. */
  readonly peers: readonly string[];
  readonly models: readonly string[];
  readonly threads: number;
  readonly quick: boolean;
  readonly command: string;
  /** Receives progress messages for the user. */
  readonly log: (line: string) => void;
  readonly progress: Progress;
}

/** Bytes of buffers that are read from memory: twice the reported cache, with bounds, since virtual machines report their host's cache. */
function memoryBytesOf({ cacheBytes = 2 ** 25 }: Machine): number {
  return Math.min(2 ** 28, Math.max(2 ** 26, 2 * cacheBytes));
}

type BackendKind = BenchedBackend["kind"];

/** Part of the receipts that one kind of backend contributes. */
interface Measured {
  readonly rows: readonly { readonly suite: Suite; readonly row: ReceiptRow }[];
  readonly ceilings: readonly Ceiling[];
  /** Device names by backend. */
  readonly devices: Readonly<Record<string, string>>;
  /** Versions by peer. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Measures every suite on the CPU, then on GPUs, and returns a receipt per suite. */
export async function run(options: RunOptions): Promise<readonly Receipt[]> {
  const machine = describeMachine();
  const commit = describeCommit(repositoryFolder);
  const date = new Date().toISOString();
  options.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.os}; ${commit.sha.slice(0, 10)}${commit.isClean ? "" : " with local changes"}`,
  );
  const measured = [await measureKind("cpu", machine, options), await measureKind("gpu", machine, options)];
  return options.suites.map((suite) => ({
    version: receiptVersion,
    suite: suite.name,
    date,
    commit,
    machine,
    versions: Object.assign({ node: process.versions.node, v8: process.versions.v8 }, ...measured.map(({ versions }) => versions)),
    devices: Object.assign({}, ...measured.map(({ devices }) => devices)),
    command: options.command,
    ceilings: measured
      .flatMap(({ ceilings }) => ceilings)
      .map((ceiling) => ({ ...ceiling, samples: ceiling.samples.map((pass) => pass.map(digits)) })),
    rows: measured.flatMap(({ rows }) => rows.filter((each) => each.suite === suite).map(({ row }) => row)),
  }));
}

/** Measures all suites on the backends and peers of one kind, and the ceilings before and after. */
async function measureKind(kind: BackendKind, machine: Machine, options: RunOptions): Promise<Measured> {
  const wanted = backendsWith(options.threads).filter(
    ({ factory, kind: of, isOptional }) =>
      of === kind && (options.backends === undefined ? isOptional !== true : options.backends.includes(factory.name)),
  );
  if (wanted.length === 0) return { rows: [], ceilings: [], devices: {}, versions: {} };
  const measuredCeilings = async (): Promise<readonly Ceiling[]> =>
    kind === "cpu" ? measureCeilings({ threads: options.threads, bytes: memoryBytesOf(machine), quick: options.quick }) : [];
  const before = await measuredCeilings();
  const measured = await measureOpened(kind, await openBackends(wanted, options.log), machine, options);
  // Other work can slow a machine down for minutes, so the ceilings are measured again after the rows.
  return { ...measured, ceilings: [...measured.ceilings, ...fasterCeilings(before, await measuredCeilings())] };
}

/** Measures all suites on open backends, and disposes of them. */
async function measureOpened(
  kind: BackendKind,
  opened: readonly OpenedBackend[],
  machine: Machine,
  options: RunOptions,
): Promise<Measured> {
  const fitting = knownPeers.filter((peer) => peer.kind === kind && options.peers.includes(peer.name));
  const peers = opened.length === 0 ? [] : await openPeers(fitting, options);
  try {
    const ceilings: Ceiling[] = [];
    if (kind === "gpu") for (const { backend } of opened) ceilings.push(await measureGpuCopy(backend));
    return {
      rows: opened.length === 0 ? [] : await measureSuites(contextOf(kind, opened, peers, machine, options), kind, options),
      ceilings,
      devices: Object.fromEntries(opened.map(({ backend }) => [backend.name, backend.device.name])),
      versions: Object.fromEntries(peers.map(({ name, peer }) => [name, peer.version])),
    };
  } finally {
    for (const { peer } of peers) await peer.dispose();
    for (const { backend } of opened) await backend.dispose();
  }
}

/** Measures the rows of all suites together. Samples are spread over the whole run, so a slow minute affects all rows a little. */
async function measureSuites(context: SuiteContext, kind: BackendKind, options: RunOptions): Promise<Measured["rows"]> {
  const planned = options.suites.flatMap((suite) => suite.rows(context).map((row) => ({ suite, row })));
  const settings = options.quick ? quickSettings : normalSettings;
  const rows = planned.map(({ row }) => row);
  const measured = await measureRows(rows, settings, options.progress);
  return measured.flatMap((row, i) => {
    const { suite } = elementAt(planned, i);
    return row.outcomes.length === 0 ? [] : [{ suite, row: deriveRow(suite.name, receiptRow(row, kind)) }];
  });
}

interface OpenedBackend extends BenchedBackend {
  readonly backend: Backend;
}

async function openBackends(wanted: readonly BenchedBackend[], log: RunOptions["log"]): Promise<readonly OpenedBackend[]> {
  const candidates = await openCandidates(wanted.map(({ factory }) => factory));
  return wanted.flatMap((benched, i) => {
    const { backend, unavailable } = elementAt(candidates, i);
    log(`${benched.factory.name}: ${backend?.device.name ?? `skipped: ${unavailable}`}`);
    return backend === undefined ? [] : [{ ...benched, backend }];
  });
}

async function openPeers(
  adapters: readonly PeerAdapter[],
  { threads, log }: RunOptions,
): Promise<readonly { readonly name: string; readonly peer: Peer }[]> {
  const opened = [];
  for (const { name, open } of adapters) {
    try {
      const peer = await open({ threads });
      opened.push({ name, peer });
      log(`${name}: ${peer.version}`);
    } catch (error) {
      // A peer is optional: any error while loading becomes its reason to be skipped.
      log(`${name}: skipped: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
    }
  }
  return opened;
}

function contextOf(
  kind: "cpu" | "gpu",
  opened: readonly OpenedBackend[],
  peers: readonly { readonly peer: Peer }[],
  machine: Machine,
  { quick, models }: RunOptions,
): SuiteContext {
  return {
    kind,
    backends: opened.map(({ backend }) => backend),
    competitors: [
      ...opened.map(({ backend, threads }) => ours(backend, threads)),
      ...peers.flatMap(({ peer }) => (peer.competitor === undefined ? [] : [peer.competitor])),
    ],
    modelCompetitors: [
      ...opened.map(({ factory, threads }) => oursModel(factory, threads)),
      ...peers.flatMap(({ peer }) => (peer.model === undefined ? [] : [peer.model])),
    ],
    models,
    quick,
    memoryBytes: memoryBytesOf(machine),
  };
}
