export { describeInChromium } from "./describeInChromium.ts";
export { type BundledPage, type BundleOptions, runPageTests, serveBundle } from "./pageTests.ts";
