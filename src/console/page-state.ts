import type { PageWithVersion, VersionWithContent } from '../shapes/page.ts'
import { call, Problem } from './api.ts'
import { absolute, bdi, type Child, facts, h } from './dom.ts'
import { idOf, json, pretty } from './notices.ts'
import { memberOf } from './raw.ts'

type Read = { readonly value: VersionWithContent; readonly text: string }
const contentOf = ({ text }: Read) => memberOf(text, 'content')
/** All immutable fields of a version, as lines. */
export const textOf = (read: Read): string =>
  [
    `name: ${read.value.computedName}`,
    `about: ${read.value.supplementaryContext ?? ''}`,
    pretty(contentOf(read)),
  ].join('\n')
/** What readers get, in a sentence. */
export const readersOf = ({ publishedVersion, latestVersion, unpublishAt }: PageWithVersion): Child => {
  const { versionNumber, status, publishAt } = latestVersion
  const states = {
    processing: 'is being processed',
    failed: 'failed',
    ready: 'is ready',
    published: 'is not shown',
    scheduled: publishAt ? `goes live on ${absolute(publishAt)}` : 'is scheduled',
  }
  const isNewer = versionNumber > (publishedVersion?.versionNumber ?? 0)
  const latest =
    isNewer && `; version ${versionNumber} ${publishedVersion ? 'is newer and ' : ''}${states[status]}`
  if (!publishedVersion)
    return [status === 'published' ? 'Unpublished: readers get nothing' : 'Not live', latest, '.']
  return [
    'Readers get ',
    h('b', `version ${publishedVersion.versionNumber}`),
    ` since ${absolute(publishedVersion.publishedAt)}`,
    unpublishAt && `, until ${absolute(unpublishAt)}`,
    latest,
    '.',
  ]
}
/** All about a version. */
export const detailOf = (read: Read) => {
  const { versionId, supplementaryContext, failureReason, publishedAt, publishAt, unpublishAt, status } =
    read.value
  const content = contentOf(read)
  return h(
    'div.detail',
    facts({
      About: bdi(supplementaryContext),
      [status === 'failed' ? 'Failed' : 'Not published at its time']:
        failureReason && h('span.bad', failureReason),
      Published: publishedAt && absolute(publishedAt),
      'Will be published': publishAt && absolute(publishAt),
      Until: unpublishAt && absolute(unpublishAt),
      Id: idOf(versionId),
    }),
    content === 'null' ? h('p.muted', 'No content.') : json('Content', content),
  )
}

const LINES_MAX = 1_500

/** Which lines two texts share, in order: of each text, whether a line is in the other one too. */
const sharedLines = (a: readonly string[], b: readonly string[]): readonly [boolean[], boolean[]] => {
  const shared: [boolean[], boolean[]] = [a.map(() => false), b.map(() => false)]
  let start = 0
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  for (let i = 0; i < start; i++) shared[0][i] = shared[1][i] = true
  for (let i = 1; i <= end; i++) shared[0][a.length - i] = shared[1][b.length - i] = true
  const rows = a.length - start - end
  const columns = b.length - start - end
  if (Math.max(rows, columns) > LINES_MAX) return shared
  // The length of the longest sequence that the rests from here on have in common.
  const lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1))
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0
  for (let i = rows - 1; i >= 0; i--)
    for (let j = columns - 1; j >= 0; j--)
      (lengths[i] as Uint16Array)[j] =
        a[start + i] === b[start + j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  for (let i = 0, j = 0; i < rows && j < columns; )
    if (a[start + i] === b[start + j]) shared[0][start + i++] = shared[1][start + j++] = true
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  return shared
}

/** Two texts side by side, the lines that differ marked. */
export const sideBySide = (left: string, right: string, names: readonly [string, string]) => {
  const lines = [left.split('\n'), right.split('\n')] as const
  const shared = sharedLines(...lines)
  const sides = ([0, 1] as const).map((side) =>
    h(
      'pre',
      { tabindex: 0, role: 'group', 'aria-label': names[side] },
      lines[side].map((line, i) =>
        shared[side][i] ? `${line}\n` : h(side === 0 ? 'del' : 'ins', {}, `${line}\n`),
      ),
    ),
  )
  return h('div.diff', sides)
}

const brief = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** A resource as the reader sees it. Conflicting changes by someone else are refused, with the differences. */
export const heldResource = <T extends object>(url: string) => {
  let value: T
  let etag: string | null = null
  const take = (answer: { readonly value: T; readonly etag: string | null }): void => {
    ;({ value, etag } = answer)
  }
  return {
    get value(): T {
      return value
    },
    /** Whether it differs from the previous one. */
    read: async (signal?: AbortSignal): Promise<boolean> => {
      const answer = await call<T>('GET', url, { etag, signal })
      if (answer.status === 304) return false
      take(answer)
      return true
    },
    /** Returns a function that changes it as seen now, even if it is read again since: take it when a dialog opens. */
    hold: () => {
      let seen = { value, etag }
      return async (method: string, path: string, body?: object): Promise<void> => {
        try {
          const answer = await call<T>(method, path, { body, ifMatch: seen.etag })
          if (answer.value === undefined) return
          // The change is made: a failure to read it again does not make it fail.
          const now = method === 'PATCH' ? answer : await call<T>('GET', url).catch(() => null)
          if (now) take(now)
        } catch (error) {
          if (!(error instanceof Problem) || error.status !== 412) throw error
          const before = { ...seen.value } as Readonly<Record<string, unknown>>
          take(await call<T>('GET', url))
          seen = { value, etag }
          const differs = ([name, now]: [string, unknown]) =>
            name !== 'updatedAt' && JSON.stringify(now) !== JSON.stringify(before[name])
          const changes = Object.entries(value).filter(differs)
          const list = changes.map(([name, now]) => `${name} is now ${brief(now)}`).join('; ')
          throw new Error(
            `Someone else has changed this: ${list || 'something that is not shown here'}. Your change was not saved. Save again to apply it anyway.`,
          )
        }
      }
    },
  }
}
