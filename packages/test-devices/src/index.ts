export { evaluateInChromium, launchChromium, launchChromiumProfile, launchOnGpu } from "./chromium.ts";
export { launchFirefox } from "./firefox.ts";
export { firstOfEach, isWholeGrid } from "./grid.ts";
export { oldestNode } from "./oldestNode.ts";
export { type BundledPage, type BundleOptions, serveBundle } from "./pageTests.ts";
export { isRequired } from "./required.ts";
export type { ServedPage } from "./servedPage.ts";
export { slowZeroing, useSwiftShader } from "./swiftshader.ts";
