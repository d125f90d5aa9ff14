export { describeInChromium, describeInFirefox, describeInWebKit } from "./describeInBrowser.ts";
export { type BundledPage, type BundleOptions, runPageTests, serveBundle } from "./pageTests.ts";
export type { DrivenPage } from "./webDriver.ts";
export type { WebKit } from "./webkit.ts";
