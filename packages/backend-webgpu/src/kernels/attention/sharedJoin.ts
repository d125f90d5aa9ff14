import { range } from "../shared/shape.ts";
import { cacheWidth } from "./cacheElements.ts";
import { joinBytesOf } from "./sharedForm.ts";
import { type Row, type SharedWork, vectorName } from "./sharedWork.ts";

/** Joins the sums of the positions of a subgroup. */
export function mergedLanes({ perPosition, subgroup, rows, values: { vectors } }: SharedWork): readonly string[] {
  const masks = range(Math.log2(subgroup / perPosition)).map((bit) => perPosition * 2 ** bit);
  const names = vectors.map(vectorName);
  return masks.flatMap((mask) =>
    rows.map(({ r }) => {
      const other = (name: string): string => `subgroupShuffleXor(${name}${r}, ${mask}u)`;
      return `{ let m = ${other("m")}; let l = ${other("l")}; ${names.map((name) => `let ${name} = ${other(`o${name}`)};`).join(" ")}
        let next = max(m${r}, m); let c = exp(m${r} - next); let e = exp(m - next);
        l${r} = l${r} * c + l * e; ${names.map((name) => `o${name}${r} = o${name}${r} * c + ${name} * e;`).join(" ")} m${r} = next; }`;
    }),
  );
}

/** Sums that subgroups join in the workgroup's memory at once: of all elements of some rows, or of some rounds of one. */
export interface Join {
  readonly rows: readonly Row[];
  readonly rounds: readonly number[];
  /** The first element of each row, and the number of elements. */
  readonly first: number;
  readonly size: number;
}

/** The joins of all rows. Each has as many elements as the memory holds. */
export function joinsOf({ dV, perPosition, lanes, subgroup, joinBytes, rows, values: { steps } }: SharedWork): readonly Join[] {
  const inRound = perPosition * cacheWidth;
  const joinsIn = (atOnce: number, roundsAtOnce: number): readonly Join[] =>
    inTurn(rows, atOnce).flatMap((some) =>
      inTurn(range(steps.length), roundsAtOnce).map((rounds): Join => {
        const first = rounds[0]! * inRound;
        return { rows: some, rounds, first, size: Math.min(dV, first + rounds.length * inRound) - first };
      }),
    );
  const fitting = (elements: number): number => Math.floor(joinBytes / joinBytesOf(lanes / subgroup, elements));
  return fitting(dV) > 0 ? joinsIn(fitting(dV), steps.length) : joinsIn(1, fitting(inRound));
}

function inTurn<T>(items: readonly T[], atOnce: number): readonly (readonly T[])[] {
  return range(Math.ceil(items.length / atOnce)).map((i) => items.slice(i * atOnce, (i + 1) * atOnce));
}

/** Joins sums of all subgroups in memory and stores them: as results for one workgroup per query, else as its share. */
export function joinText({ rows, rounds, first, size }: Join, work: SharedWork): readonly string[] {
  const { dV, heads, lanes, perPosition, parts, subgroup, terms } = work;
  const subgroups = lanes / subgroup;
  const sink = terms.hasSinks ? "sinkOf(h)" : undefined;
  const r0 = rows[0]?.r ?? 0;
  const writes = rows.flatMap(({ r }, i) => [
    `{ let at = (${i * subgroups}u + lane / ${subgroup}u) * ${size}u + lp * ${cacheWidth}u;`,
    ...rounds.flatMap((round) => roundText(round, first, r, work)),
    `if (lp == 0u) { tops[${i * subgroups}u + lane / ${subgroup}u] = vec2f(m${r}, l${r}); } }`,
  ]);
  const d = first === 0 ? "d" : `${first}u + d`;
  return [
    `if (lane % ${subgroup}u < ${perPosition}u) {`,
    ...writes,
    "}",
    "workgroupBarrier();",
    `for (var e = lane; e < ${rows.length * size}u; e += ${lanes}u) {`,
    `let row = e / ${size}u; let d = e % ${size}u;`,
    `let t = t0 + (${r0}u + row) / ${heads}u; let h = h0 + (${r0}u + row) % ${heads}u;`,
    `var m = ${sink ?? "unseen"};`,
    `for (var i = 0u; i < ${subgroups}u; i++) { m = max(m, tops[row * ${subgroups}u + i].x); }`,
    `var total = ${sink === undefined ? "0.0" : `exp(${sink} - m)`}; var sum = 0.0;`,
    `for (var i = 0u; i < ${subgroups}u; i++) {`,
    `let top = tops[row * ${subgroups}u + i]; let c = exp(top.x - m);`,
    `total += c * top.y; sum += c * sums[(row * ${subgroups}u + i) * ${size}u + d];`,
    "}",
    "if (t < p.tokens) {",
    ...(parts === 1
      ? [`y[(t * p.heads + h) * ${dV}u + ${d}] = select(0.0, sum / total, total > 0.0);`]
      : [
          `let to = ((t * p.heads + h) * ${parts}u + group % ${parts}u) * ${dV + 2}u;`,
          `shares[to + ${d}] = sum;`,
          ...(first === 0 ? [`if (d == 0u) { shares[to + ${dV}u] = m; shares[to + ${dV + 1}u] = total; }`] : []),
        ]),
    "}",
    "}",
    "workgroupBarrier();",
  ];
}

/** Writes the lane's elements of a round to the sums of a row, which begin at element `first`. */
function roundText(round: number, first: number, r: number, { dV, perPosition }: SharedWork): readonly string[] {
  const from = round * perPosition * cacheWidth - first;
  const having = dV / cacheWidth - round * perPosition;
  const writes = [0, 1].flatMap((half) =>
    ["x", "y", "z", "w"].map((part, e) => `sums[at + ${from + 4 * half + e}u] = o${vectorName(2 * round + half)}${r}.${part};`),
  );
  return having >= perPosition ? writes : [`if (lp < ${having}u) {`, ...writes, "}"];
}
