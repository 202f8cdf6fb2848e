import * as v from 'valibot'

type Issue = { readonly detail: string; readonly path: readonly string[] }

/** A value against the shape of an object: its output, and everything that is wrong with it. */
export const checkShape = <Shape extends v.GenericSchema>(shape: Shape, given: unknown) => {
  // valibot takes an array for an object without members.
  const { output, issues = [] } = v.safeParse(shape, Array.isArray(given) ? null : given)
  return { output: output as v.InferOutput<Shape>, issues: issues.map(issueOf) }
}

const issueOf = (issue: v.BaseIssue<unknown>): Issue => ({
  detail: detailOf(issue),
  path: (issue.path ?? []).map(({ key }) => String(key)),
})

/** valibot's own messages quote the value, which may be somebody's email. */
const detailOf = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind === 'validation' || issue.type === 'custom' || issue.type === 'picklist')
    return issue.message
  if (issue.received === 'undefined') return 'is required'
  const kind = issue.expected === 'Object' ? 'object' : issue.expected
  return `must be ${/^[aeio]/i.test(kind ?? '') ? 'an' : 'a'} ${kind}`
}

/** A place in a JSON document, as RFC 6901 writes it. */
export const pointerTo = (path: readonly string[]): string =>
  path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
