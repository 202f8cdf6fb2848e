/**
 * What follows on a value that is at hand, or on the promise of one. Much that may need the store is remembered, and a
 * promise for each activity of a batch would cost more than to decide it.
 */
export const andThen = <Value, Result>(
  value: Promise<Value> | Value,
  next: (value: Value) => Promise<Result> | Result,
): Promise<Result> | Result => (value instanceof Promise ? value.then(next) : next(value))

/** `Promise.all` for values that are nearly always all at hand. */
export const allOf = <Value>(
  values: readonly (Promise<Value> | Value)[],
): Promise<readonly Value[]> | readonly Value[] =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly Value[])
