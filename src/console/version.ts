import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { fieldsOf, textOf, type Value } from './content.ts'
import { actions, bdi, button, type Child, counted, dayOfWeek, facts, h, time, zoneAt } from './dom.ts'
import { jsonOnDemand } from './json-on-demand.ts'
import { code, copy, idOf, pretty } from './notices.ts'
import { memberOf } from './raw.ts'

/** A version and its exact text. */
export type ReadVersion = { readonly value: VersionWithContent; readonly text: string }
/** The content of a version as JSON: `null` if it has none. */
export const contentOf = ({ text }: Pick<ReadVersion, 'text'>) => memberOf(text, 'content')

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
    ', published ',
    time(publishedVersion.publishedAt),
    unpublishAt && [', until ', time(unpublishAt)],
    isNewer && [`; version ${versionNumber} is newer and `, states[status]],
    '.',
  ]
}

/**
 * What is scheduled, the earliest first: a sentence for each version, with a button that unschedules it. `change`: what it
 * does to what readers get until then.
 */
export const plansOf = (
  versions: readonly Version[],
  change: string,
  unschedule: (version: Version) => unknown,
): Child => {
  const scheduled = versions.filter(({ status, publishAt }) => status === 'scheduled' && publishAt)
  const ordered = scheduled.toSorted((a, b) => (a.publishAt ?? '').localeCompare(b.publishAt ?? ''))
  return ordered.map((version) => {
    const { versionNumber, publishAt, unpublishAt } = version
    return plan(
      `On ${dayInZone(publishAt ?? '')}, version ${versionNumber} ${change}.${unpublishAt ? ` It is unpublished on ${dayInZone(unpublishAt)}.` : ''}`,
      button(`Unschedule version ${versionNumber}`, () => unschedule(version), { class: 'link' }),
    )
  })
}

/** What is planned, with a button that prevents it. */
export const plan = (text: string, button: Child) => h('p.plan', h('span', text), button)

/** `Monday, 30 November, 09:00 CET`. */
export const dayInZone = (at: string): string => `${dayOfWeek(at)} ${zoneAt(at)}`

/** A version as it was saved: its fields, when it was published, and buttons. */
export const versionDetail = (read: ReadVersion, ...buttons: readonly Child[]) => {
  const { versionId, supplementaryContext, failureReason, status } = read.value
  const { createdAt, publishedAt, publishAt, unpublishAt } = read.value
  const failure = status === 'failed' ? 'Failed' : 'Not published at its time'
  return h(
    'div.detail',
    h('div', contentShown(contentOf(read))),
    h(
      'div',
      facts({
        Saved: time(createdAt),
        'Last published': publishedAt && time(publishedAt),
        'Will be published': publishAt && dayInZone(publishAt),
        Until: unpublishAt && dayInZone(unpublishAt),
        [failure]: failureReason && h('span.bad', failureReason),
        'What it is about': bdi(supplementaryContext),
        ID: idOf(versionId),
      }),
      actions(...buttons),
    ),
  )
}

/** So many fields are shown at first. */
const SHOWN_MAX = 100

/** The fields of a content as it is stored, and its JSON on demand. */
const contentShown = (content: string): Child => {
  if (content === 'null') return h('p.muted', 'No content.')
  const fields = fieldsOf(content)
  const list = h('dl.facts', fields.slice(0, SHOWN_MAX).map(pairOf))
  const rest = fields.slice(SHOWN_MAX)
  const showRest = button(`Show ${counted(rest.length, 'more field')}`, () => {
    list.append(...rest.flatMap(pairOf))
    showRest.remove()
  })
  return [
    fields.length > 0 ? list : h('p.muted', 'The content has no fields.'),
    rest.length > 0 && showRest,
    jsonOnDemand(
      () => code(pretty(content), 'Content'),
      button('Copy content', () => copy(content)),
    ),
  ]
}

const pairOf = (field: Value) => [
  h('dt', bdi(field.path)),
  h('dd', bdi(textOf(field)) || h('span.muted', 'empty')),
]
