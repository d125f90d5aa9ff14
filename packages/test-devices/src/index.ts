export { evaluateInChromium, launchChromium, openPage, type ServedPage } from "./chromium.ts";
export { firstOfEach, type GridSize, gridSize, isFullGrid, isWholeGrid } from "./grid.ts";
export { oldestNode } from "./oldestNode.ts";
export { isRequired } from "./required.ts";
export type { ServeOptions } from "./sourceServer.ts";
export { useSwiftShader } from "./swiftshader.ts";
