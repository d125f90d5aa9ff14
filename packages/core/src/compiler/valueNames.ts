import { elementAt } from "@centella/quant/checks";
import type { Node, ProgramGraph } from "../program/programGraph.ts";
import { structuralKey } from "../program/structuralKey.ts";
import { formatSpec } from "../spec.ts";

/** Names of values: declared names, small constants as numbers, `name'2` for the second version of a persistent, else `%id`. */
export function valueNames({ values }: ProgramGraph): (id: number) => string {
  const versions = new Map<string, number>();
  const names = values.map(({ id, definition, persistent, spec }) => {
    if (persistent !== undefined) {
      const version = versions.get(persistent) ?? 0;
      versions.set(persistent, version + 1);
      return version === 0 ? persistent : `${persistent}'${version}`;
    }
    if (definition.kind === "input") return definition.name;
    if (definition.kind !== "constant") return `%${id}`;
    return definition.data.length === 1 ? structuralKey("constant", definition.data[0]) : `constant ${formatSpec(spec)}`;
  });
  return (id) => elementAt(names, id);
}

/** The results of a node: those that it has besides its output, then the output. */
export function resultsOfNode({ output, extraOutputs = [] }: Node): readonly number[] {
  return [...extraOutputs, output];
}
