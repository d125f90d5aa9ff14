export { describeInChromium, describeInFirefox } from "./describeInBrowser.ts";
export { type BundledPage, type BundleOptions, runPageTests, serveBundle } from "./pageTests.ts";
