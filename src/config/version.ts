/** The version in `package.json`. Not read from there: a bundle has no such file. */
export const VERSION = '0.1.0'

/** The description of the product, as in `package.json`, the image and README.md. */
export const DESCRIPTION =
  'A self-hosted HTTP service for campaigns: it keeps landing pages and their published versions, records what each prospect does, and passes every change on to your other systems.'
