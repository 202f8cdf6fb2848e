import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { baseUrl, call, get, path, type Slice } from './api.ts'
import { ask, askToDelete, attempt, gated, idOf, loadMore, notify } from './dialog.ts'
import { sideBySide } from './diff.ts'
import { absolute, below, button, card, expander, facts, h, refill, table, time } from './dom.ts'
import { field, zone } from './fields.ts'
import { heldResource } from './held-resource.ts'
import { repeat } from './live.ts'
import { createVersion } from './new-version.ts'
import { addressOf, type Place, replaceAddress } from './place.ts'
import { detailOf, textOf } from './version-detail.ts'

const POLL_MS = 2_000

/** A page with its versions: the one readers get, the differences between two, and manual actions. */
export const pageView = async (groupId: string, pageId: string, place: Place, signal: AbortSignal) => {
  const url = path`/page_groups/${groupId}/pages/${pageId}`
  const page = heldResource<PageWithVersion>(url)
  const group = heldResource<Pick<PageGroup, 'title' | 'status'>>(path`/page_groups/${groupId}`)
  await group.read(signal)
  await page.read(signal)
  const heading = h('div')
  const buttons = h('div.actions')
  const about = h('div')
  const list = table(['Version', 'State', 'Name', 'Created', ''], [])
  const comparison = h('section')
  let versions: readonly Version[] = []
  let isLonger = false
  /** Whether the versions are as new as the page: a change may fail after only one of them was read again. */
  let isCurrent = false
  const older = loadMore(async (cursor) => {
    const slice = await get<Slice<Version>>(`${url}/versions`, { limit: 50, cursor }, signal)
    versions = [...versions, ...slice.items]
    isLonger = true
    show()
    return slice.nextCursor
  })

  /** The exact text of a version. */
  const read = (versionId: string) =>
    call<VersionWithContent>('GET', `${url}${path`/versions/${versionId}`}`, { signal })
  const hold = () => {
    const change = page.hold()
    return (method: string, where: string, body?: object) => {
      isCurrent = false
      return change(method, `${url}${where}`, body).finally(show)
    }
  }
  const publish = ({ versionId, versionNumber }: Version) =>
    attempt(async () => {
      await hold()('POST', path`/versions/${versionId}/publish`)
      notify(`Readers get version ${versionNumber} now.`)
      await refresh()
    })
  const publishLater = ({ versionId, versionNumber }: Version) => {
    const change = hold()
    ask({
      title: `Publish version ${versionNumber} later`,
      action: 'Schedule',
      body: [
        field(
          'Publish at',
          'publishAt',
          { type: 'datetime-local', required: true },
          `Your time zone (${zone()}).`,
        ),
        field('Unpublish at', 'unpublishAt', { type: 'datetime-local' }, 'Leave empty to keep it published.'),
      ],
      run: async (times) => {
        const at = (time?: string) => time && new Date(time).toISOString()
        const body = { publishAt: at(times['publishAt']), unpublishAt: at(times['unpublishAt']) || undefined }
        await change('POST', path`/versions/${versionId}/publish`, body)
        await refresh()
      },
    })
  }
  const unschedule = ({ versionId, versionNumber }: Version) =>
    attempt(async () => {
      await call('POST', `${url}${path`/versions/${versionId}/unschedule`}`)
      await refresh()
      notify(`Version ${versionNumber} is no longer scheduled.`)
    })

  const tagOf = ({ versionId, status, publishAt }: Version) => {
    if (publishAt && status === 'scheduled')
      return [h('span.tag', {}, 'scheduled'), ` ${absolute(publishAt)}`]
    if (page.value.publishedVersion?.versionId === versionId) return h('span.tag.ok', {}, 'published')
    if (status === 'published') return h('span.tag', {}, 'published before')
    return h(
      status === 'failed' ? 'span.tag.bad' : status === 'processing' ? 'span.tag.warning' : 'span.tag',
      {},
      status,
    )
  }
  const rowOf = (version: Version, i: number) => {
    const { versionId, versionNumber, computedName, createdAt, status } = version
    const current = page.value.publishedVersion
    const other = current && current.versionId !== versionId ? current.versionId : versions[i + 1]?.versionId
    const isActive = group.value.status === 'active'
    const isOlder = current !== null && versionNumber < (current?.versionNumber ?? 0)
    const isPublishable =
      isActive && current?.versionId !== versionId && ['ready', 'published', 'scheduled'].includes(status)
    const show = async () => below(row, 5, detailOf(await read(versionId)))
    const opener = expander(`Version ${versionNumber}`, show)
    const row: HTMLElement = h(
      'tr',
      {},
      h('td', {}, h('b', {}, opener)),
      h('td', {}, tagOf(version)),
      h('td', {}, h('bdi', {}, computedName)),
      h('td.when', {}, time(createdAt, true)),
      h(
        'td.end',
        {},
        other && button('Compare', () => compare(other, versionId), { class: 'link' }),
        other && isPublishable && ' · ',
        isPublishable &&
          gated('pages:write', isOlder ? 'Roll back' : 'Publish', () => publish(version), { class: 'link' }),
        isPublishable && [
          ' · ',
          gated('pages:write', 'Later…', () => publishLater(version), { class: 'link' }),
        ],
        status === 'scheduled' && [
          ' · ',
          gated('pages:write', 'Unschedule', () => unschedule(version), { class: 'link' }),
        ],
      ),
    )
    return row
  }
  const loadVersions = async (): Promise<void> => {
    const slice = await get<Slice<Version>>(`${url}/versions`, { limit: 50 }, signal)
    versions = slice.items
    isLonger = false
    isCurrent = true
    older.follow(slice.nextCursor)
  }
  const compare = (left: string, right: string) =>
    attempt(async () => {
      const both = await Promise.all([read(left), read(right)])
      both.sort((a, b) => a.value.versionNumber - b.value.versionNumber)
      const names = both.map(({ value }) => `Version ${value.versionNumber}`) as [string, string]
      const [a = '', b = ''] = both.map(textOf)
      refill(
        comparison,
        h('h2.label', {}, `${names[0]} and version ${both[1].value.versionNumber}, side by side`),
        card(sideBySide(a, b, names)),
      )
      replaceAddress(['pages', groupId, pageId], { compare: `${left},${right}` })
      comparison.scrollIntoView({ block: 'nearest' })
    })

  const show = (): void => {
    const {
      effectiveName,
      customName,
      computedName,
      supplementaryContext,
      publishedVersion,
      latestVersion,
      unpublishAt,
    } = page.value
    const { versionNumber, status, failureReason } = latestVersion
    const isActive = group.value.status === 'active'
    const isNewer = versionNumber > (publishedVersion?.versionNumber ?? 0)
    const states = {
      ...{ processing: 'being processed', failed: 'failed', ready: 'ready' },
      ...{ scheduled: 'scheduled', published: 'not shown' },
    }
    const latest =
      isNewer && `; version ${versionNumber} is ${publishedVersion ? 'newer and ' : ''}${states[status]}`
    const readers = publishedVersion
      ? [
          'Readers get ',
          h('b', {}, `version ${publishedVersion.versionNumber}`),
          ', since ',
          h('span', {}, absolute(publishedVersion.publishedAt)),
          unpublishAt && `, until ${absolute(unpublishAt)}`,
          latest,
        ]
      : [status === 'published' ? 'Unpublished: readers get nothing' : 'Readers get nothing yet', latest]
    const note =
      !isActive && h('p.warning', {}, 'The group is archived: versions cannot be created or published.')
    refill(heading, h('h1', {}, h('bdi', {}, effectiveName)), h('p.lead.muted', {}, readers, '.'), note)
    refill(
      buttons,
      gated('pages:write', 'Rename…', rename),
      publishedVersion && gated('pages:write', 'Unpublish', unpublish),
      gated('pages:write', 'Delete…', remove, { class: 'danger' }),
      isActive &&
        gated(
          'pages:write',
          'New version',
          () => attempt(() => createVersion(url, versions[0]?.versionId, refresh)),
          { class: 'primary' },
        ),
    )
    const failed = failureReason && h('span.bad', {}, failureReason)
    refill(
      about,
      facts({
        About: supplementaryContext && h('bdi', {}, supplementaryContext),
        'Given name': customName && h('bdi', {}, customName),
        'Generated name': customName && h('bdi', {}, computedName),
        [status === 'failed' ? 'Newest version failed' : 'Newest version not published']: failed,
        Id: idOf(pageId),
        'For readers': h('code', {}, `GET ${baseUrl()}/v0${url}`),
      }),
    )
    // Open rows stay open: the rows change only if the versions do.
    const state = JSON.stringify([versions, publishedVersion?.versionId, isActive])
    if (list.dataset['state'] !== state) refill(list.tBodies[0] as HTMLElement, versions.map(rowOf))
    list.dataset['state'] = state
  }
  const unpublish = () =>
    attempt(async () => {
      await hold()('POST', '/unpublish')
      notify('Unpublished. Publish a version to show the page again.')
      await refresh()
    })
  const refresh = async (): Promise<void> => {
    await Promise.all([page.read(), loadVersions()])
    show()
  }
  const rename = () => {
    const change = hold()
    ask({
      title: 'Rename the page',
      action: 'Rename',
      body: [field('Name', 'customName', { value: page.value.customName }, 'Empty: the generated name.')],
      run: async ({ customName }) => {
        await change('PATCH', '', { customName: customName || null })
      },
    })
  }
  const remove = () => {
    const change = hold()
    askToDelete(
      page.value.effectiveName,
      'The page and all of its versions are deleted. This cannot be undone.',
      async () => {
        await change('DELETE', '')
        location.hash = addressOf(['pages', groupId])
      },
    )
  }

  await loadVersions()
  show()
  const [left, right] = (place.search.get('compare') ?? '').split(',')
  if (left && right) void compare(left, right)
  const work = async (): Promise<void> => {
    const isProcessing = versions.some(({ status }) => status === 'processing')
    // Both are requested: someone else may have changed each.
    for (const one of [group, page]) if (await one.read(signal)) isCurrent = false
    if (isCurrent && !isProcessing) return
    if (!isLonger) await loadVersions()
    isCurrent = true
    show()
  }
  void repeat({ signal, ms: POLL_MS, work })
  return [
    h(
      'header',
      {},
      h('a.crumbs', { href: addressOf(['pages', groupId]) }, h('bdi', {}, group.value.title)),
      heading,
      buttons,
    ),
    card(about),
    card(list, older.element),
    comparison,
  ]
}
