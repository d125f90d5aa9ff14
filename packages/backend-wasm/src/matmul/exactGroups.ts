import { type FunctionRef, i32, type ModuleBuilder, threadIndex } from "../emit/index.ts";
import { groupRows } from "../formats/block.ts";
import { panelSignature } from "../formats/decodeGroup.ts";
import { type FormatName, formatNames, formatOf } from "../formats/index.ts";
import { outer, rowPanels } from "./outer.ts";
import { rowSignature } from "./outerRows.ts";
import { tileSignature } from "./outerTiles.ts";

const { depth, tileColumns } = outer;

/** Bytes of a decoded panel: `depth` of k, eight rows of weights, f32. */
const panelBytes = 4 * depth * groupRows;

/** Bytes of a thread's scratch: four panels, or one panel and a tile. */
export const exactScratchBytes: number = rowPanels * panelBytes;

/**
 * Emits products of interleaved rows with unrounded activations, for each format. Eight rows are decoded to a panel for
 * the tiles of outerTiles.ts, and accumulate in the same order.
 *
 * `exact.<format>(w, a, y, n, groupBytes, k, yBytes, tokens, first, threadScratch, begin, end)` adds the products of
 * groups `begin` to `end` with `tokens` packed rows of `a`, over `k` elements at `w`, to `y [tokens, n]`.
 *
 * `exactRows.<format>(w, a, y, rows, groupBytes, k, aBytes, yBytes, tokens, threadScratch)` covers all of k, for a few
 * tokens that are not packed.
 *
 * Each thread has {@link exactScratchBytes} of scratch.
 */
export function emitExactGroups(module: ModuleBuilder): void {
  for (const name of formatNames) {
    const panel = module.find(`panel.${name}`, panelSignature);
    emitExactTiles(module, name, panel);
    emitExactRows(module, name, panel);
  }
}

type Panel = FunctionRef<typeof panelSignature, undefined>;

function emitExactTiles(module: ModuleBuilder, name: FormatName, panel: Panel): void {
  const tile = module.find("outer.tile", tileSignature);
  const { elements } = formatOf(name);
  const signature = {
    w: "i32",
    a: "i32",
    y: "i32",
    n: "i32",
    groupBytes: "i32",
    k: "i32",
    yBytes: "i32",
    tokens: "i32",
    first: "i32",
    threadScratch: "i32",
    begin: "i32",
    end: "i32",
  } as const;
  module.function(`exact.${name}`, signature, (f, { w, a, y, n, groupBytes, k, yBytes, tokens, first, threadScratch, begin, end }) => {
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, exactScratchBytes)));
    const rows = f.let(i32.mul(end, groupRows));
    f.set(rows, i32.sub(i32.select(i32.ltU(n, rows), n, rows), i32.mul(begin, groupRows)));
    f.advance(w, i32.mul(begin, groupBytes));
    f.advance(y, i32.mul(begin, 4 * groupRows));
    const blocks = f.let(i32.divU(k, elements));
    const spill = f.let(i32.add(scratch, panelBytes));
    const columns = f.local("i32");
    f.while(rows, () => {
      f.call(panel, { w, to: scratch, blocks });
      f.set(columns, i32.select(i32.ltU(rows, tileColumns), rows, tileColumns));
      f.call(tile, { a, b: scratch, y, k, rowBytes: yBytes, rows: tokens, columns, first, spill });
      f.advance(w, groupBytes);
      f.advance(y, 4 * groupRows);
      f.set(rows, i32.sub(rows, columns));
    });
  });
}

function emitExactRows(module: ModuleBuilder, name: FormatName, panel: Panel): void {
  const row = module.find("outer.row", rowSignature);
  const { elements, bytes } = formatOf(name);
  const signature = {
    w: "i32",
    a: "i32",
    y: "i32",
    rows: "i32",
    groupBytes: "i32",
    k: "i32",
    aBytes: "i32",
    yBytes: "i32",
    tokens: "i32",
    threadScratch: "i32",
  } as const;
  module.function(`exactRows.${name}`, signature, (f, { w, a, y, rows, groupBytes, k, aBytes, yBytes, tokens, threadScratch }) => {
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, exactScratchBytes)));
    const [at, count, group, panelAt, left, x, to, token] = f.locals("i32", 8);
    const columns = f.local("i32");
    f.while(rows, () => {
      f.set(columns, i32.select(i32.ltU(rows, rowPanels * groupRows), rows, rowPanels * groupRows));
      f.set(at, i32.const(0));
      f.while(i32.ltU(at, k), () => {
        f.set(count, i32.sub(k, at));
        f.set(count, i32.select(i32.ltU(count, depth), count, depth));
        f.set(group, i32.add(w, i32.mul(i32.divU(at, elements), groupRows * bytes)));
        f.set(panelAt, scratch);
        f.set(left, columns);
        f.while(left, () => {
          f.call(panel, { w: group, to: panelAt, blocks: i32.divU(count, elements) });
          f.advance(group, groupBytes);
          f.advance(panelAt, panelBytes);
          f.countDown(left, groupRows);
        });
        f.set(x, i32.add(a, i32.shl(at, 2)));
        f.set(to, y);
        f.set(token, tokens);
        f.while(token, () => {
          f.call(row, { x, panels: scratch, panelBytes: i32.const(panelBytes), y: to, k: count, columns, first: i32.eqz(at) });
          f.advance(x, aBytes);
          f.advance(to, yBytes);
          f.advance(token, -1);
        });
        f.advance(at, count);
      });
      f.advance(w, i32.mul(groupBytes, rowPanels));
      f.advance(y, 4 * rowPanels * groupRows);
      f.set(rows, i32.sub(rows, columns));
    });
  });
}
