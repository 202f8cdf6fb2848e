import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { bdi, button, type Child, dayOfWeek, facts, h, time, zoneAt } from './dom.ts'
import { idOf, json, pretty } from './notices.ts'
import { memberOf } from './raw.ts'

/** A version and its exact text. */
export type ReadVersion = { readonly value: VersionWithContent; readonly text: string }
/** The content of a version as JSON: `null` if it has none. */
export const contentOf = ({ text }: Pick<ReadVersion, 'text'>) => memberOf(text, 'content')

/** The immutable fields of a version as lines, which can be compared. */
export const linesOfVersion = (read: ReadVersion): string => {
  const { computedName, supplementaryContext } = read.value
  return `name: ${computedName}\nabout: ${supplementaryContext ?? ''}\n${pretty(contentOf(read))}`
}

/** A sentence that says which version readers get. */
export const readersOf = ({ publishedVersion, latestVersion, unpublishAt }: PageWithVersion): Child => {
  const { versionNumber, status, publishAt } = latestVersion
  const states = {
    processing: 'is being processed',
    failed: 'failed',
    ready: 'is a draft',
    published: 'is not shown',
    scheduled: publishAt ? ['goes live ', time(publishAt)] : 'is scheduled',
  }
  const isNewer = versionNumber > (publishedVersion?.versionNumber ?? 0)
  if (!publishedVersion) {
    const latest = isNewer && [`; version ${versionNumber} `, states[status]]
    return [status === 'published' ? 'Unpublished: readers get nothing' : 'Not live', latest, '.']
  }
  return [
    'Readers get ',
    h('b', `version ${publishedVersion.versionNumber}`),
    ' since ',
    time(publishedVersion.publishedAt),
    unpublishAt && [', until ', time(unpublishAt)],
    isNewer && [`; version ${versionNumber} is newer and `, states[status]],
    '.',
  ]
}

/**
 * What is scheduled, the earliest first: a sentence for each version, with a button that unschedules it. `replaced`: what
 * readers get until then, or null for nothing.
 */
export const plansOf = (
  versions: readonly Version[],
  replaced: string | null,
  unschedule: (version: Version) => unknown,
): Child => {
  const scheduled = versions.filter(({ status, publishAt }) => status === 'scheduled' && publishAt)
  const ordered = scheduled.toSorted((a, b) => (a.publishAt ?? '').localeCompare(b.publishAt ?? ''))
  return ordered.map((version) => {
    const { versionNumber, publishAt, unpublishAt } = version
    const change = replaced === null ? 'is published' : `replaces ${replaced}`
    return plan(
      `On ${dayInZone(publishAt ?? '')}, version ${versionNumber} ${change}${unpublishAt ? `, until ${dayInZone(unpublishAt)}` : ''}.`,
      button(`Unschedule version ${versionNumber}`, () => unschedule(version), { class: 'link' }),
    )
  })
}

/** What is planned, with a button that prevents it. */
export const plan = (text: string, button: Child) => h('p.plan', h('span', text), button)

/** `Monday, 30 November, 09:00 CET`. */
export const dayInZone = (at: string): string => `${dayOfWeek(at)} ${zoneAt(at)}`

/** All fields of a version. */
export const versionDetail = (read: ReadVersion) => {
  const { versionId, supplementaryContext, failureReason, status } = read.value
  const { publishedAt, publishAt, unpublishAt } = read.value
  const content = contentOf(read)
  const failure = status === 'failed' ? 'Failed' : 'Not published at its time'
  return h(
    'div.detail',
    facts({
      About: bdi(supplementaryContext),
      [failure]: failureReason && h('span.bad', failureReason),
      Published: publishedAt && time(publishedAt),
      'Will be published': publishAt && time(publishAt),
      Until: unpublishAt && time(unpublishAt),
      ID: idOf(versionId),
    }),
    content === 'null' ? h('p.muted', 'No content.') : json('Content', content),
  )
}
