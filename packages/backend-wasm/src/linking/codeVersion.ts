/** Identifies the code that emits kernels. The build replaces it with a digest of the code and of the package's manifest. */
export const codeVersion: string = "source";
