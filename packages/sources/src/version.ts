/** The version of this package, for the User-Agent. A constant, for a bundle has no package.json beside it; `npm run changeset -- version` writes it. */
export const VERSION = '0.1.0';
