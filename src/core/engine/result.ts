/** What an operation resolves to. One that returns nothing resolves to undefined. */
export type Result<Value> = { readonly value: Value }
/** `revision`: every visible change raises it. */
export type Revised<Value> = Result<Value> & { readonly revision: number }
/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type Replayable<Value> = Result<Value> & { readonly replayed: boolean }
