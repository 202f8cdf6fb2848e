import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { baseUrl, call, get, path, type Slice } from './api.ts'
import { versionChanges } from './content-changes.ts'
import {
  type Attributes,
  actions,
  bdi,
  button,
  type Child,
  card,
  crumb,
  facts,
  h,
  type Place,
  refill,
  replaceAddress,
  tag,
  time,
  when,
} from './dom.ts'
import { heldResource } from './held-resource.ts'
import { below, expander, loadMore, openByClick, row, table } from './lists.ts'
import { gated, idOf, notify } from './notices.ts'
import {
  deletePage,
  type Edited,
  editPage,
  isDraft,
  isOlder,
  publishVersion,
  renamePage,
  unpublishPage,
} from './page-dialogs.ts'
import { repeat } from './repeat.ts'
import { contentOf, dayInZone, plan, plansOf, type ReadVersion, readersOf, versionDetail } from './version.ts'

const LINK = { class: 'link' }
const COLUMNS = ['Version', 'State', 'Saved', '']

/** A page with its versions: the one readers get, the differences between two, and what can be done. */
export const pageView = async (groupId: string, pageId: string, place: Place, signal: AbortSignal) => {
  const url = path`/page_groups/${groupId}/pages/${pageId}`
  const page = heldResource<PageWithVersion>(url)
  const group = heldResource<Pick<PageGroup, 'title' | 'status'>>(path`/page_groups/${groupId}`)
  await group.read(signal)
  await page.read(signal)
  const heading = h('div')
  const buttons = actions()
  const plans = h('div.plans.warning')
  const about = h('div')
  const isActive = () => group.value.status === 'active'
  const list = table(COLUMNS, [])
  list.classList.add('versions')
  const comparison = h('section')
  /** The buttons that open the versions, and the version that was opened last. */
  const openers = new Map<string, HTMLElement>()
  let openedId = place.search.get('version') ?? undefined
  let versions: readonly Version[] = []
  let hasOlder = false
  /** Whether the versions are as new as the page: after a change, only one of the two may have been read again. */
  let isCurrent = false

  const readVersions = (cursor?: string) =>
    get<Slice<Version>>(`${url}/versions`, { limit: 100, cursor }, signal)
  const older = loadMore(async (cursor) => {
    const slice = await readVersions(cursor)
    versions = [...versions, ...slice.items]
    hasOlder = true
    show()
    return slice.nextCursor
  })
  const loadVersions = async (): Promise<void> => {
    const slice = await readVersions()
    versions = slice.items
    hasOlder = false
    isCurrent = true
    older.follow(slice.nextCursor)
  }
  const readVersion = (versionId: string) =>
    call<VersionWithContent>('GET', `${url}${path`/versions/${versionId}`}`, { signal })

  /** Returns a function that changes the page as it is shown now. */
  const hold = () => {
    const change = page.hold()
    return (method: string, subPath: string, body?: object) => {
      isCurrent = false
      return change(method, `${url}${subPath}`, body).finally(show)
    }
  }
  const refresh = async (): Promise<void> => {
    await Promise.all([page.read(), loadVersions()])
    show()
  }
  const edited = (): Edited => ({ url, page: page.value, versions, unschedule, done: refresh })
  const publish = (version: Version) => publishVersion(version, edited(), hold)
  /** Returns the versions without this schedule. */
  const unschedule = async ({ versionId, versionNumber }: Version): Promise<readonly Version[]> => {
    await call('POST', `${url}${path`/versions/${versionId}/unschedule`}`)
    notify(`Version ${versionNumber} is no longer scheduled.`)
    await refresh()
    return versions
  }
  const keepPublished = async () => {
    await hold()('PATCH', '', { unpublishAt: null })
    notify('The page stays published.')
    await refresh()
  }
  const edit = () => editPage(edited())
  const editScheduled = (version: Version) => editPage(edited(), version)
  const setAddress = (search: Readonly<Record<string, string>>): void => {
    if (!signal.aborted) replaceAddress(['pages', groupId, pageId], search)
  }
  const compare = async (oneId: string, otherId: string) => {
    const read = await Promise.all([readVersion(oneId), readVersion(otherId)])
    const [older, newer] = read.sort((a, b) => a.value.versionNumber - b.value.versionNumber).map(comparedOf)
    if (!older || !newer) return
    const close = () => {
      refill(comparison)
      setAddress({})
    }
    refill(
      comparison,
      h('h2.label', `What changed from version ${older.number} to version ${newer.number}`),
      versionChanges(older, newer, button('Close', close)),
    )
    setAddress({ compare: `${oneId},${otherId}` })
    comparison.scrollIntoView({ block: 'nearest' })
  }

  const link = (text: string, run: () => unknown) => gated('pages:write', text, run, LINK)
  /** Nothing for a version that readers get, or that cannot be published. */
  const publishButton = (version: Version, attributes: Attributes = {}): Child => {
    const { versionId, status } = version
    const isShown = page.value.publishedVersion?.versionId === versionId
    const isPublishable = isActive() && !isShown && ['ready', 'published', 'scheduled'].includes(status)
    const text = isOlder(version, page.value) ? 'Roll back…' : 'Publish…'
    return isPublishable && gated('pages:write', text, () => publish(version), attributes)
  }
  const linksOf = (version: Version, previous: Version | undefined): readonly Child[] => {
    const { versionId, status } = version
    const current = page.value.publishedVersion
    const comparedId = current && current.versionId !== versionId ? current.versionId : previous?.versionId
    const isNewest = versionId === versions[0]?.versionId
    return [
      isNewest && isDraft(version) && isActive() && link('Edit', edit),
      status === 'scheduled' && isActive() && link('Edit', () => editScheduled(version)),
      comparedId && button('Compare', () => compare(comparedId, versionId), LINK),
      publishButton(version, LINK),
      status === 'scheduled' && link('Unschedule', () => unschedule(version)),
    ]
  }
  const rowOf = (version: Version, i: number) => {
    const { versionId, versionNumber, createdAt } = version
    const showDetail = async () => {
      const detail = versionDetail(await readVersion(versionId), publishButton(version))
      return below(element, COLUMNS.length, detail)
    }
    const opener = expander(`Version ${versionNumber}`, showDetail, () => {
      openedId = opener.ariaExpanded === 'true' ? versionId : undefined
      setAddress(openedId ? { version: openedId } : {})
    })
    const element = row(
      h('b', opener),
      stateOf(version, page.value, versions[0]),
      when(createdAt),
      h('td.end', h('div.links', linksOf(version, versions[i + 1]))),
    )
    openByClick(element, opener)
    openers.set(versionId, opener)
    return element
  }

  const show = (): void => {
    const { unpublishAt } = page.value
    refill(
      heading,
      h('h1', bdi(page.value.effectiveName)),
      h('p.lead.muted', readersOf(page.value)),
      !isActive() && h('p.warning', 'The group is archived: versions cannot be created or published.'),
    )
    const isPublished = page.value.publishedVersion !== null
    refill(
      plans,
      plansOf(versions, isPublished ? 'replaces this' : 'is published', unschedule),
      unpublishAt &&
        plan(
          `On ${dayInZone(unpublishAt)}, the page is unpublished.`,
          button('Keep it published', keepPublished, LINK),
        ),
    )
    refill(
      buttons,
      gated('pages:write', 'Rename…', () => renamePage(page.value, hold())),
      isPublished && gated('pages:write', 'Unpublish…', () => unpublishPage(hold(), refresh)),
      gated('pages:write', 'Delete…', () => deletePage(page.value, hold()), { class: 'danger' }),
      isActive() && gated('pages:write', 'Edit page', edit, { class: 'primary' }),
    )
    refill(about, aboutPage(page.value))
    // The rows change only if the versions do, so that open rows stay open.
    const state = JSON.stringify([versions, page.value.publishedVersion?.versionId, isActive()])
    if (list.dataset['state'] !== state) {
      refill(list.tBodies[0] as HTMLElement, versions.map(rowOf))
      openers.get(openedId ?? '')?.click()
    }
    list.dataset['state'] = state
  }

  await loadVersions()
  show()
  const [oneId, otherId] = (place.search.get('compare') ?? '').split(',')
  if (oneId && otherId) void compare(oneId, otherId)
  const work = async (): Promise<void> => {
    const isProcessing = versions.some(({ status }) => status === 'processing')
    if (await group.read(signal)) isCurrent = false
    if (await page.read(signal)) isCurrent = false
    if (isCurrent && !isProcessing) return
    if (!hasOlder) await loadVersions()
    isCurrent = true
    show()
  }
  void repeat({ signal, work })
  return [
    h('header', crumb(bdi(group.value.title), 'pages', groupId), heading, buttons),
    plans,
    about,
    card(list, older.element),
    comparison,
    h(
      'details',
      h('summary', 'For programs'),
      facts({ ID: idOf(pageId), Address: h('code', `GET ${baseUrl()}/v0${url}`) }),
    ),
  ]
}

const STATE_COLOURS: Readonly<Partial<Record<Version['status'], 'bad' | 'warning'>>> = {
  failed: 'bad',
  processing: 'warning',
}
const stateOf = (version: Version, { publishedVersion }: PageWithVersion, newest: Version | undefined) => {
  const { versionId, status, publishAt } = version
  if (publishAt && status === 'scheduled') return [tag('scheduled'), ' ', time(publishAt)]
  if (publishedVersion?.versionId === versionId) return tag('published', 'ok')
  if (status === 'published') return tag('published before')
  if (status === 'ready') return tag(version === newest ? 'draft' : 'earlier draft')
  return tag(status, STATE_COLOURS[status])
}

/** What the page is about, and why its newest version is not published; nothing if there is neither. */
const aboutPage = ({ supplementaryContext, latestVersion }: PageWithVersion): Child => {
  const { status, failureReason } = latestVersion
  if (!supplementaryContext && !failureReason) return
  const failure = status === 'failed' ? 'Newest version failed' : 'Newest version not published'
  return card(
    facts({
      'What it is about': bdi(supplementaryContext),
      [failure]: failureReason && h('span.bad', failureReason),
    }),
  )
}

const comparedOf = (read: ReadVersion) => ({
  number: read.value.versionNumber,
  about: read.value.supplementaryContext ?? '',
  content: contentOf(read),
})
