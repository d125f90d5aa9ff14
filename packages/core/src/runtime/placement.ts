import { check, either, listOf, object, string } from "@centella/quant/checks";
import { consumersOf, versions } from "../compiler/passes/graph.ts";
import { simplify } from "../compiler/passes/simplify.ts";
import { ArgumentError } from "../errors.ts";
import { programGraph } from "../kinds.ts";
import type { Node, Output, Persistent, ProgramGraph, ValueInfo } from "../program/programGraph.ts";
import { byteLength, maxSpec } from "../spec.ts";

/**
 * The backend that each persistent lives on, by the persistent's name. One that no call writes may live on several, each with
 * its own copy: small weights that all layers share.
 */
export type Placement = Readonly<Record<string, string | readonly string[]>>;

/** A value that one part of a program computes and a later part reads. */
export interface Cut {
  /** Its name among the outputs of the one and the inputs of the other. */
  readonly name: string;
  readonly value: number;
  /** Index of the part that computes it. */
  readonly from: number;
  /** Bytes that move in a run, with symbolic dims at their maxima. */
  readonly bytes: number;
}

/** What one backend computes before another one goes on. */
export interface Part {
  /** The backend's name. */
  readonly home: string;
  /** The first part of a home declares all persistents that live there, a later one those that it uses. */
  readonly program: ProgramGraph;
  readonly takes: readonly Cut[];
}

/**
 * Cuts a program where the home of what it computes with changes. A call that reads or writes persistents is computed where
 * they live (where it writes, else where the largest lives that has one home); one that does not, where the last of its
 * inputs is computed, or else where it is needed first. Parts run in order. Pure.
 * @throws {ArgumentError} for a placement of something that is no persistent of the program, or without a home
 */
export function splitByPlacement(recorded: ProgramGraph, placement: Placement, defaultHome: string): readonly Part[] {
  check("placement", "program", recorded, programGraph);
  checkPlacement(placement);
  const unknown = Object.keys(placement).find((name) => !recorded.persistents.has(name));
  if (unknown !== undefined) throw new ArgumentError("placement", "names of persistents of the program", unknown, "check the spelling");
  const program = simplify(recorded);
  const homes = new Map(
    [...program.persistents.keys()].map((name) => {
      const given = Object.hasOwn(placement, name) ? placement[name]! : defaultHome;
      return [name, typeof given === "string" ? [given] : [...new Set(given)]] as const;
    }),
  );
  for (const { op, inputs } of program.nodes) {
    const written = op.writes === undefined ? undefined : program.values[inputs[op.writes]!]!.persistent!;
    if (written !== undefined && homes.get(written)!.length > 1)
      throw new ArgumentError("placement", `one home for ${written}, which ${op.name} writes`, homes.get(written)!.join(", "));
  }
  const homeless = [...homes].find(([, all]) => all.length === 0);
  if (homeless !== undefined) throw new ArgumentError("placement", `a home for ${homeless[0]}`, "none");
  return new Splitter(program, homes, defaultHome).parts();
}

const homesKind = either(string, listOf("names of backends", string));

/** @throws {ArgumentError} unless every home is a backend's name or a list of names */
function checkPlacement(placement: Placement): void {
  check("placement", "placement", placement, object, "pass { persistent: backend }");
  for (const name in placement) check("placement", name, placement[name], homesKind);
}

/** Names of all backends in a placement. @throws {ArgumentError} if it is malformed */
export function homesIn(placement: Placement): readonly string[] {
  checkPlacement(placement);
  return [...new Set(Object.values(placement).flat())];
}

/** What has to be placed in order: a call, a persistent that is read elsewhere, or an output of the program. */
interface Item {
  readonly home: string;
  /** Positions of items that come before it. */
  readonly after: readonly number[];
}

class Splitter {
  readonly #program: ProgramGraph;
  /** Homes of persistents, by name. */
  readonly #placed: ReadonlyMap<string, readonly string[]>;
  readonly #defaultHome: string;
  /** For values in a persistent's memory: the version that they are. */
  readonly #version: ReadonlyMap<number, number>;
  readonly #homes: readonly string[];

  constructor(program: ProgramGraph, placed: ReadonlyMap<string, readonly string[]>, defaultHome: string) {
    this.#program = program;
    this.#placed = placed;
    this.#defaultHome = defaultHome;
    this.#version = versions(program);
    this.#homes = this.#homesOfNodes();
  }

  parts(): readonly Part[] {
    const { nodes, outputs, values } = this.#program;
    const lent = this.#lent();
    const { partOf, homes } = schedule(this.#items(lent));
    const drafts = homes.map((home): Draft => new Draft(this.#program, home));
    const draftOf = (at: number): Draft => drafts[partOf[at]!]!;
    for (const [i, { value }] of lent.entries()) draftOf(i).computed.add(value);
    for (const [i, node] of nodes.entries()) draftOf(lent.length + i).add(node);
    for (const [i, output] of outputs.entries()) draftOf(lent.length + nodes.length + i).outputs.push(output);
    this.#declare(drafts);
    const producers = new Map(drafts.flatMap(({ computed }, part) => [...computed].map((id) => [id, part])));
    const views = new Map(nodes.filter(({ op }) => op.alias === true).map((node) => [node.output, node]));
    for (const draft of drafts) {
      const reads = new Set([...draft.nodes.flatMap(({ inputs }) => inputs), ...draft.outputs.map(({ value }) => value)]);
      for (const id of reads) if (id !== undefined) this.#provide(draft, id, { drafts, producers, views });
    }
    return drafts.map((draft) => draft.part(values));
  }

  /** Persistents that are read elsewhere than where they live, before they are written. */
  #lent(): readonly Persistent[] {
    const consumers = consumersOf(this.#program.nodes);
    return [...this.#program.persistents.values()].filter(({ name, value }) =>
      consumers.get(value)?.some((reader) => !this.#placed.get(name)!.includes(this.#homes[reader]!)),
    );
  }

  /** Lent persistents, then the calls in their order, then the outputs. */
  #items(lent: readonly Persistent[]): readonly Item[] {
    const { nodes, outputs } = this.#program;
    const producer = new Map(nodes.map(({ output }, i) => [output, lent.length + i]));
    for (const [i, { value }] of lent.entries()) producer.set(value, i);
    const readers = this.#readersOfVersions(lent.length);
    return [
      ...lent.map(({ name }): Item => ({ home: this.#placed.get(name)![0]!, after: [] })),
      ...nodes.map(({ op, inputs }, i): Item => {
        const made = inputs.flatMap((id) => (id === undefined ? [] : (producer.get(id) ?? [])));
        const hazards = op.writes === undefined ? [] : (readers.get(this.#version.get(inputs[op.writes]!)!) ?? []);
        return { home: this.#homes[i]!, after: [...made, ...hazards.filter((at) => at !== lent.length + i)] };
      }),
      ...outputs.map(({ value }): Item => {
        const at = producer.get(value);
        const home = this.#homesOfValue(value)?.[0] ?? (at === undefined ? this.#defaultHome : this.#homes[at - lent.length]!);
        return { home, after: at === undefined ? [] : [at] };
      }),
    ];
  }

  /** All persistents of a home, in its first part; a home without work gets a part that only holds them. */
  #declare(drafts: Draft[]): void {
    for (const persistent of this.#program.persistents.values()) {
      for (const home of this.#placed.get(persistent.name)!) {
        const first = drafts.find((draft) => draft.home === home) ?? new Draft(this.#program, home);
        if (!drafts.includes(first)) drafts.push(first);
        first.begin(persistent, persistent.value);
      }
    }
    if (drafts.length === 0) drafts.push(new Draft(this.#program, this.#defaultHome));
  }

  /** Makes a value known to a part that reads it. */
  #provide(
    draft: Draft,
    id: number,
    all: {
      readonly drafts: readonly Draft[];
      readonly producers: ReadonlyMap<number, number>;
      readonly views: ReadonlyMap<number, Node>;
    },
  ): void {
    const { definition } = this.#program.values[id]!;
    if (definition.kind === "input") draft.inputs.set(definition.name, id);
    if (draft.computed.has(id) || definition.kind === "input" || definition.kind === "constant") return;
    if (this.#homesOfValue(id)?.includes(draft.home)) {
      // The persistent is as this part needs it when the part begins.
      const view = all.views.get(id);
      if (view === undefined) draft.begin(this.#program.persistents.get(this.#program.values[id]!.persistent!)!, id);
      else {
        this.#provide(draft, view.inputs[0]!, all);
        draft.computed.add(id);
        draft.views.push(view);
      }
      return;
    }
    const from = all.producers.get(id)!;
    draft.takes.push({ ...all.drafts[from]!.give(id, draft.home), from });
  }

  #homesOfNodes(): readonly string[] {
    const { nodes, values } = this.#program;
    const made = new Map<number, number>();
    const homes: (string | undefined)[] = nodes.map(() => undefined);
    nodes.forEach(({ op, inputs, output }, i) => {
      const used = inputs.filter((id) => id !== undefined);
      const bytes = (id: number): number => byteLength(maxSpec(values[id]!.spec));
      const settled = used.filter((id) => this.#homesOfValue(id)?.length === 1);
      const decisive = op.writes === undefined ? settled.toSorted((a, b) => bytes(b) - bytes(a))[0] : inputs[op.writes];
      const last = Math.max(-1, ...used.map((id) => made.get(id) ?? -1).filter((at) => homes[at] !== undefined));
      homes[i] = decisive === undefined ? homes[last] : this.#homesOfValue(decisive)![0];
      // A view of a persistent with several homes says nothing: it is made again wherever it is read.
      if (homes[i] !== undefined || !this.#version.has(output)) made.set(output, i);
    });
    const consumers = consumersOf(nodes);
    for (let i = nodes.length - 1; i >= 0; i--) {
      const { output } = nodes[i]!;
      const needed = homes[consumers.get(output)?.[0] ?? -1] ?? this.#defaultHome;
      const own = this.#homesOfValue(output);
      homes[i] ??= own === undefined || own.includes(needed) ? needed : own[0]!;
    }
    return homes as readonly string[];
  }

  /** Where a value lies that is in a persistent's memory. */
  #homesOfValue(id: number): readonly string[] | undefined {
    const version = this.#version.get(id);
    return version === undefined ? undefined : this.#placed.get(this.#program.values[version]!.persistent!)!;
  }

  /** Positions of the calls that read each version of a persistent: before it is written, all of them are done. */
  #readersOfVersions(first: number): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, number[]>();
    this.#program.nodes.forEach(({ inputs }, i) => {
      for (const id of inputs) {
        const version = id === undefined ? undefined : this.#version.get(id);
        if (version === undefined) continue;
        const known = found.get(version);
        if (known === undefined) found.set(version, [first + i]);
        else known.push(first + i);
      }
    });
    return found;
  }
}

/** Gathers items into parts of one home each, as few as the first item that is left allows at each step. */
function schedule(items: readonly Item[]): { readonly partOf: readonly number[]; readonly homes: readonly string[] } {
  const partOf: number[] = [];
  const homes: string[] = [];
  let left = items.map((_, at) => at);
  while (left.length > 0) {
    const { home } = items[left[0]!]!;
    const part = homes.push(home) - 1;
    left = left.filter((at) => {
      const item = items[at]!;
      if (item.home !== home || item.after.some((before) => partOf[before] === undefined)) return true;
      partOf[at] = part;
      return false;
    });
  }
  return { partOf, homes };
}

/** A part while it is made. */
class Draft {
  readonly home: string;
  readonly nodes: Node[] = [];
  /** Views of persistents, which are made again where they are used. */
  readonly views: Node[] = [];
  readonly outputs: Output[] = [];
  readonly inputs = new Map<string, number>();
  readonly takes: Cut[] = [];
  readonly computed = new Set<number>();
  readonly #program: ProgramGraph;
  readonly #persistents = new Map<string, Persistent>();
  readonly #gives = new Map<string, Output>();

  constructor(program: ProgramGraph, home: string) {
    this.#program = program;
    this.home = home;
  }

  add(node: Node): void {
    this.nodes.push(node);
    this.computed.add(node.output);
  }

  /** Declares a persistent whose content is a version of it when the part begins. */
  begin(persistent: Persistent, value: number): void {
    this.#persistents.set(persistent.name, { ...persistent, value });
  }

  /** Makes a value leave the part: read back for another backend, in place for a later part of this one. */
  give(value: number, reader: string): Omit<Cut, "from"> {
    const to = reader === this.home ? "device" : "host";
    let name = `%${value} ${to}`;
    const { inputs, outputs, values } = this.#program;
    while (inputs.has(name) || outputs.some((output) => output.name === name)) name = `%${name}`;
    this.#gives.set(name, { name, value, to });
    return { name, value, bytes: byteLength(maxSpec(values[value]!.spec)) };
  }

  part(values: readonly ValueInfo[]): Part {
    const { dims } = this.#program;
    const patched = [...values];
    const inputs = new Map(this.inputs);
    for (const { name, value } of this.takes) {
      inputs.set(name, value);
      patched[value] = { ...values[value]!, definition: { kind: "input", name }, persistent: undefined };
    }
    for (const { name, value } of this.#persistents.values()) {
      patched[value] = { ...values[value]!, definition: { kind: "persistent", name } };
    }
    const program = {
      dims,
      values: patched,
      nodes: [...this.views, ...this.nodes],
      inputs,
      persistents: this.#persistents,
      outputs: [...this.outputs, ...this.#gives.values()],
    };
    return { home: this.home, program, takes: this.takes };
  }
}
