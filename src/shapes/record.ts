import * as v from 'valibot'

/** Names that valibot leaves out of every record, without an issue. */
const LEFT_OUT = ['__proto__', 'constructor', 'prototype']
const leftOutOf = (input: unknown): string | undefined =>
  LEFT_OUT.find((name) => typeof input === 'object' && input !== null && Object.hasOwn(input, name))
const REFUSING = v.custom<never>(
  () => false,
  ({ input }) => `must not have a member named ${leftOutOf(input)}`,
)

/** A record whose names callers choose: one that it cannot keep is refused. */
export const keepingAll = <Schema extends v.GenericSchema>(record: Schema): Schema => {
  const run = record['~run'].bind(record)
  const refuse = REFUSING['~run'].bind(REFUSING)
  return Object.assign(record, {
    '~run': ((dataset, config) =>
      (leftOutOf(dataset.value) === undefined ? run : refuse)(dataset, config)) satisfies typeof run,
  })
}
