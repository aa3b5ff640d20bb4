/**
 * The version of this package, for the User-Agent header. A constant, because a bundle has no package.json. `npm run release:version`
 * writes it.
 */
export const VERSION = '0.1.0';
