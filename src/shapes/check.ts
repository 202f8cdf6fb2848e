import * as v from 'valibot'

/** Checks a value against the shape of an object: its output, and all faults with their places. */
export const checkShape = <Shape extends v.GenericSchema>(
  shape: Shape,
  given: unknown,
  place: 'pointer' | 'parameter' = 'pointer',
) => {
  // valibot takes an array for an object without members.
  const { output, issues = [] } = v.safeParse(shape, Array.isArray(given) ? null : given)
  const faults = issues.map((issue) => {
    const path = (issue.path ?? []).map(({ key }) => String(key))
    return { detail: detailOf(issue), [place]: place === 'pointer' ? pointerTo(path) : (path[0] ?? '') }
  })
  return { output: output as v.InferOutput<Shape>, faults }
}

/** valibot's messages quote the value, which may be a person's email. */
const detailOf = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind === 'validation' || issue.type === 'custom') return issue.message
  if (issue.expected === 'never') return 'is not a known member'
  if (issue.type === 'literal') return `must be ${issue.expected}`
  if (issue.received === 'undefined') return 'is required'
  if (issue.type === 'picklist')
    return `must be one of ${issue.expected?.replaceAll(/[()"]/g, '').replaceAll(' |', ',')}`
  const kind = issue.expected?.toLowerCase() ?? ''
  return `must be ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** A place in a JSON document, as RFC 6901 writes it. */
const pointerTo = (path: readonly string[]): string =>
  path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
