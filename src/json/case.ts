/** `page_group_id` in camel case is `pageGroupId`. */
export type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name

/** `page_group_id` becomes `pageGroupId`, as do `PageGroupId` and `page-group-id`. */
export const camelCase = (name: string): string =>
  name
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** `pageGroupId` becomes `page_group_id`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
