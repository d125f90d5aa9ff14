/** Version of this package, which a test compares with its manifest. */
export const version = "0.1.0";
