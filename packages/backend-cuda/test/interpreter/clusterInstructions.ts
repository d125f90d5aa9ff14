import { waitsForCluster } from "./meetings.ts";
import { Fault } from "./memory.ts";
import type { Instruction, ParsedKernel } from "./parse.ts";

/** The value of a special register of clusters; undefined for other names. A block's own place is `ctaid` in `grid`. */
export function clusterRegister(name: string, size: ParsedKernel["cluster"]): string | undefined {
  const [across, down, deep] = size;
  if (name === "%cluster_nctarank") return String(across * down * deep);
  if (name === "%cluster_ctarank") return `ctaid[0] % ${across} + ${across} * (ctaid[1] % ${down} + ${down} * (ctaid[2] % ${deep}))`;
  const [, what, letter] = /^%(clusterid|nclusterid|cluster_ctaid|cluster_nctaid)\.([xyz])$/.exec(name) ?? [];
  if (what === undefined) return undefined;
  const axis = "xyz".indexOf(letter!);
  const values: Readonly<Record<string, string>> = {
    clusterid: `Math.floor(ctaid[${axis}] / ${size[axis]})`,
    nclusterid: `grid[${axis}] / ${size[axis]}`,
    cluster_ctaid: `ctaid[${axis}] % ${size[axis]}`,
    cluster_nctaid: `${size[axis]}`,
  };
  return values[what];
}

/** The cluster's barrier. In its aligned form, the lanes of a warp come there together. */
export function clusterBarrier({ name, text }: Instruction, meeting: number): string {
  const [, step, order, aligned] = /^barrier\.cluster\.(arrive|wait)\.(release|relaxed|acquire)(\.aligned)?$/.exec(name) ?? [];
  if (step === undefined || (order === "acquire") !== (step === "wait")) throw new Fault(`unknown instruction: ${text}`);
  const meet = aligned === undefined ? "" : `yield ${meeting}; m.thread = tid;`;
  if (step === "arrive") return `${meet} m.arriveCluster(${order === "release"}, ${aligned !== undefined});`;
  return `${meet} while (!m.waitCluster()) { yield ${waitsForCluster}; m.thread = tid; }`;
}
