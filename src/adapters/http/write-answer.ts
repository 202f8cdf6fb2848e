import { lengthOf, measured, tagOfRevision } from './entity-tags.ts'
import type { Answer, Route } from './route.ts'

type Written = { readonly text: string; readonly etag?: string; readonly length?: string }
/** An answer as JSON, and its tag if it has a revision or is that of a read. */
export const write = ({ body, revision }: Answer, { method, write = JSON.stringify }: Route): Written => {
  const json = body === undefined ? '' : write(body)
  const text = json && `${json}\n`
  if (revision !== undefined) return { text, etag: tagOfRevision(revision), length: lengthOf(json) }
  return method === 'GET' ? { text, ...measured(json) } : { text }
}

/** Callers that read the same at the same moment share one answer, one after the other. It is written and measured once. */
export const createWriteShared = () => {
  let last: object | undefined
  let written: Written = { text: '' }
  return (answer: Answer, route: Route): Written => {
    if (answer.body !== last) {
      written = write(answer, route)
      last = answer.body
    }
    return written
  }
}
