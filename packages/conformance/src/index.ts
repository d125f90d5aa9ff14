export { type DescribeBackendOptions, describeBackend } from "./describeBackend.ts";
export * from "./headless.ts";
