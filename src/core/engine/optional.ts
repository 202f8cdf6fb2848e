/** The same members, each of which may be absent or undefined. */
export type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }
