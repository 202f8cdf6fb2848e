import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { baseUrl, call, get, path, type Slice } from './api.ts'
import {
  absolute,
  actions,
  bdi,
  button,
  card,
  crumb,
  facts,
  h,
  type Place,
  refill,
  replaceAddress,
  tag,
  when,
} from './dom.ts'
import { below, expander, loadMore, row, table } from './lists.ts'
import { gated, idOf, notify } from './notices.ts'
import { createVersion, deletePage, publishLater, renamePage } from './page-dialogs.ts'
import { detailOf, heldResource, readersOf, sideBySide, textOf } from './page-state.ts'
import { repeat } from './repeat.ts'

/** A page with its versions: the one readers get, the differences between two, and manual actions. */
export const pageView = async (groupId: string, pageId: string, place: Place, signal: AbortSignal) => {
  const url = path`/page_groups/${groupId}/pages/${pageId}`
  const page = heldResource<PageWithVersion>(url)
  const group = heldResource<Pick<PageGroup, 'title' | 'status'>>(path`/page_groups/${groupId}`)
  await group.read(signal)
  await page.read(signal)
  const heading = h('div')
  const buttons = actions()
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
  const act = async (said: string, run: () => Promise<unknown>) => {
    await run()
    notify(said)
    await refresh()
  }
  const publish = ({ versionId, versionNumber }: Version) =>
    act(`Readers get version ${versionNumber} now.`, () =>
      hold()('POST', path`/versions/${versionId}/publish`),
    )
  const unschedule = ({ versionId, versionNumber }: Version) =>
    act(`Version ${versionNumber} is no longer scheduled.`, () =>
      call('POST', `${url}${path`/versions/${versionId}/unschedule`}`),
    )
  const unpublish = () =>
    act('Unpublished. Publish a version to show the page again.', () => hold()('POST', '/unpublish'))

  const tagOf = ({ versionId, status, publishAt }: Version) => {
    if (publishAt && status === 'scheduled') return [tag('scheduled'), ` ${absolute(publishAt)}`]
    if (page.value.publishedVersion?.versionId === versionId) return tag('published', 'ok')
    if (status === 'published') return tag('published before')
    return tag(status, status === 'failed' ? 'bad' : status === 'processing' ? 'warning' : '')
  }
  const rowOf = (version: Version, i: number) => {
    const { versionId, versionNumber, computedName, createdAt, status } = version
    const current = page.value.publishedVersion
    const isShown = current?.versionId === versionId
    const other = current && !isShown ? current.versionId : versions[i + 1]?.versionId
    const isPublishable =
      group.value.status === 'active' && !isShown && ['ready', 'published', 'scheduled'].includes(status)
    const verb = versionNumber < (current?.versionNumber ?? 0) ? 'Roll back' : 'Publish'
    const link = (text: string, run: () => unknown) => gated('pages:write', text, run, { class: 'link' })
    const links = [
      other && button('Compare', () => compare(other, versionId), { class: 'link' }),
      isPublishable && link(verb, () => publish(version)),
      isPublishable && link('Later…', () => publishLater(version, hold(), refresh)),
      status === 'scheduled' && link('Unschedule', () => unschedule(version)),
    ].filter((one) => one instanceof Node)
    const opener = expander(`Version ${versionNumber}`, async () =>
      below(shown, 5, detailOf(await read(versionId))),
    )
    const shown = row(
      h('b', opener),
      tagOf(version),
      bdi(computedName),
      when(createdAt),
      h(
        'td.end',
        links.map((one, at) => [at > 0 && ' · ', one]),
      ),
    )
    return shown
  }
  const loadVersions = async (): Promise<void> => {
    const slice = await get<Slice<Version>>(`${url}/versions`, { limit: 50 }, signal)
    versions = slice.items
    isLonger = false
    isCurrent = true
    older.follow(slice.nextCursor)
  }
  const compare = async (left: string, right: string) => {
    const both = await Promise.all([read(left), read(right)])
    both.sort((a, b) => a.value.versionNumber - b.value.versionNumber)
    const names = both.map(({ value }) => `Version ${value.versionNumber}`) as [string, string]
    const [a = '', b = ''] = both.map(textOf)
    refill(
      comparison,
      h('h2.label', `${names[0]} and version ${both[1].value.versionNumber}, side by side`),
      card(sideBySide(a, b, names)),
    )
    replaceAddress(['pages', groupId, pageId], { compare: `${left},${right}` })
    comparison.scrollIntoView({ block: 'nearest' })
  }

  const show = (): void => {
    const { effectiveName, customName, computedName, supplementaryContext } = page.value
    const { publishedVersion, latestVersion } = page.value
    const { status, failureReason } = latestVersion
    const isActive = group.value.status === 'active'
    const note =
      !isActive && h('p.warning', 'The group is archived: versions cannot be created or published.')
    refill(heading, h('h1', bdi(effectiveName)), h('p.lead.muted', readersOf(page.value)), note)
    refill(
      buttons,
      gated('pages:write', 'Rename…', () => renamePage(page.value, hold())),
      publishedVersion && gated('pages:write', 'Unpublish', unpublish),
      gated('pages:write', 'Delete…', () => deletePage(page.value, hold()), { class: 'danger' }),
      isActive &&
        gated('pages:write', 'New version', () => createVersion(url, versions[0]?.versionId, refresh), {
          class: 'primary',
        }),
    )
    refill(
      about,
      facts({
        About: bdi(supplementaryContext),
        'Given name': bdi(customName),
        'Generated name': customName && bdi(computedName),
        [status === 'failed' ? 'Newest version failed' : 'Newest version not published']:
          failureReason && h('span.bad', failureReason),
        Id: idOf(pageId),
        'For readers': h('code', `GET ${baseUrl()}/v0${url}`),
      }),
    )
    // Open rows stay open: the rows change only if the versions do.
    const state = JSON.stringify([versions, publishedVersion?.versionId, isActive])
    if (list.dataset['state'] !== state) refill(list.tBodies[0] as HTMLElement, versions.map(rowOf))
    list.dataset['state'] = state
  }
  const refresh = async (): Promise<void> => {
    await Promise.all([page.read(), loadVersions()])
    show()
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
  void repeat({ signal, work })
  return [
    h('header', crumb(bdi(group.value.title), 'pages', groupId), heading, buttons),
    card(about),
    card(list, older.element),
    comparison,
  ]
}
