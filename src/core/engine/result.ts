/** The result of an operation; undefined if it returns nothing. */
export type Result<Value> = { readonly value: Value }
/** `revision`: every visible change raises it. */
export type Revised<Value> = Result<Value> & { readonly revision: number }
/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type Replayable<Value> = Result<Value> & { readonly replayed: boolean }
