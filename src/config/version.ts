/** The version in `package.json`. Not read from there: a bundle has no such file. */
export const VERSION = '0.1.0'
