import type { Page, PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { call, can, get, path, type Slice } from './api.ts'
import { blankOf, fieldsOf, valueIn } from './content.ts'
import { contentField, typedContent } from './content-field.ts'
import { area, askToDelete, field, isoOf, openForm, timeField } from './dialog.ts'
import { bdi, type Child, goTo, h, refill } from './dom.ts'
import { notify, pretty } from './notices.ts'
import { withExact } from './raw.ts'
import { contentOf, plansOf } from './version.ts'
import { inputValueOf, type When, whenField } from './when-field.ts'

/** Changes the page as it was shown when its dialog opened. */
type Change = (method: string, subPath: string, body?: object) => Promise<void>

/** The fields of the first page of a group. */
const SAMPLE = '{"title":"","text":""}'

/** Creates a page that is published now, later, or not yet. */
export const createPage = async (groupId: string): Promise<void> => {
  const url = path`/page_groups/${groupId}/pages`
  const neighbor = await newestWithFields(url)
  openEditor({
    title: 'New page',
    content: '',
    proposal: neighbor ? blankOf(valueIn(neighbor.content)) : SAMPLE,
    about: null,
    note: neighbor && ['The same fields as on ', bdi(neighbor.name), '.'],
    name: field(
      'Name of the page',
      'customName',
      {},
      'For you and your colleagues, here and in reports. Leave empty to have one generated.',
    ),
    when: 'now',
    save: async (body) => {
      const { value } = await call<{ pageId: string }>('POST', url, { body })
      goTo(['pages', groupId, value.pageId])
    },
  })
}

/** Pages of a group in which fields are searched. */
const SEARCHED_MAX = 5
/** The newest page of a group that has content: a new one probably gets the same fields. */
const newestWithFields = async (url: string) => {
  if (!can('pages:read')) return
  const { items } = await get<Slice<Page>>(url, { limit: SEARCHED_MAX })
  for (const { pageId, effectiveName } of items) {
    const pageUrl = `${url}${path`/${pageId}`}`
    const { publishedVersion, latestVersion } = await get<PageWithVersion>(pageUrl)
    const { versionId } = publishedVersion ?? latestVersion
    const content = contentOf(await call('GET', `${pageUrl}${path`/versions/${versionId}`}`))
    if (fieldsOf(content).length > 0) return { name: effectiveName, content }
  }
  return
}

/** A page with its versions. `unschedule` returns the versions once one of them is no longer scheduled. */
type Edited = {
  readonly url: string
  readonly page: PageWithVersion
  readonly versions: readonly Version[]
  readonly unschedule: (version: Version) => Promise<readonly Version[]>
  readonly done: () => Promise<void>
}

/** Edits a page: its draft if its newest version is one, else what readers get. Saves that as a new version. */
export const editPage = async (edited: Edited): Promise<void> => {
  const { url, page, versions, done } = edited
  const newest = versions[0]
  const draft = newest && isDraft(newest) ? newest : undefined
  const baseId = draft?.versionId ?? page.publishedVersion?.versionId ?? newest?.versionId ?? ''
  const read = await call<VersionWithContent>('GET', `${url}${path`/versions/${baseId}`}`)
  const content = contentOf(read)
  openEditor({
    title: draft ? 'Edit the draft' : 'Edit the page',
    content: content === 'null' ? '' : content,
    proposal: SAMPLE,
    about: read.value.supplementaryContext,
    when: draft ? 'draft' : 'now',
    plans: plansToRemove(edited),
    save: async (body, when) => {
      await call('POST', `${url}/versions`, { body })
      notify(SAVED[when])
      await done()
    },
  })
}

/** A version that was never published, and is not about to be. */
export const isDraft = ({ status, publishedAt }: Version): boolean =>
  status === 'ready' && publishedAt === null

const ACTIONS: Readonly<Record<When, string>> = { now: 'Publish', later: 'Schedule', draft: 'Save the draft' }
const SAVED: Readonly<Record<When, string>> = {
  now: 'Saved. Readers get it in a moment.',
  later: 'Saved. Readers get it at its time.',
  draft: 'The draft is saved. Readers do not see it.',
}

type Editor = {
  readonly title: string
  /** JSON, or empty if there is none. */
  readonly content: string
  /** JSON that is shown if there is no content, and saved only if it was edited. */
  readonly proposal: string
  readonly about: string | null
  /** Where the proposal comes from. */
  readonly note?: Child
  /** The field for the name of a new page. */
  readonly name?: HTMLElement
  readonly when: When
  /** What else is scheduled. */
  readonly plans?: HTMLElement
  readonly save: (body: string, when: When) => Promise<void>
}

/** The form to edit a page: what it shows, and when readers get it. */
const openEditor = ({ title, content, proposal, note, about, name, when, plans, save }: Editor): void => {
  const before = pretty(content || proposal)
  const action = h('span', ACTIONS[when])
  const choose = (chosen: When): void => {
    action.textContent = ACTIONS[chosen]
    if (plans) plans.hidden = chosen === 'draft'
  }
  choose(when)
  openForm({
    title,
    action,
    // Whoever presses Enter for a new line does not publish half a page.
    needsButton: true,
    body: [
      contentField(before, note),
      name,
      h(
        'details',
        h('summary', 'What is it about?'),
        area(
          'A note for the generator of names and for your programs',
          'supplementaryContext',
          { rows: 2, value: about },
          'In addition to the context of the group.',
        ),
      ),
      whenField({
        texts: { now: 'Publish now', later: 'Publish at …', draft: 'Keep as a draft' },
        chosen: when,
        choose,
      }),
      plans,
    ],
    run: async ({ content: typed, supplementaryContext, customName, when, publishAt }) => {
      const members = {
        supplementaryContext: supplementaryContext || (about === null ? undefined : null),
        customName: customName || undefined,
        publish: when !== 'draft',
        publishAt: isoOf(publishAt),
      }
      // Untouched content stays unchanged, byte for byte.
      const saved = typed === before ? content || 'null' : typedContent(typed)
      const body = saved === 'null' && name ? JSON.stringify(members) : withExact(members, 'content', saved)
      await save(body, when as When)
    },
  })
}

/** The versions that are scheduled and would replace what is published before, each with a button that unschedules it. */
const plansToRemove = ({ versions, unschedule }: Pick<Edited, 'versions' | 'unschedule'>) => {
  const plans = h('div.warning', { role: 'status' })
  const show = (versions: readonly Version[]): void => {
    const remove = async (version: Version) => show(await unschedule(version))
    refill(plans, plansOf(versions, 'what you publish before', remove))
  }
  show(versions)
  return plans
}

/** Whether readers get a newer version than this one. */
export const isOlder = ({ versionNumber }: Version, { publishedVersion }: PageWithVersion): boolean =>
  versionNumber < (publishedVersion?.versionNumber ?? 0)

/** Publishes a version that is ready, now or later. Says what it replaces, and what is scheduled to replace it. */
export const publishVersion = (
  version: Version,
  { page, versions, unschedule, done }: Omit<Edited, 'url'>,
  hold: () => Change,
): void => {
  let change = hold()
  const { versionId, versionNumber, publishAt } = version
  const now = isOlder(version, page) ? 'Roll back' : 'Publish'
  const action = h('span')
  const choose = (when: When): void => {
    action.textContent = when === 'later' ? 'Schedule' : now
  }
  const others = (versions: readonly Version[]) => versions.filter((other) => other.versionId !== versionId)
  const replaced = page.publishedVersion
  openForm({
    title: now === 'Publish' ? `Publish version ${versionNumber}` : `Roll back to version ${versionNumber}`,
    action,
    body: [
      h(
        'p',
        replaced
          ? `Readers get version ${versionNumber} instead of version ${replaced.versionNumber}, which stays in the list.`
          : `Readers get nothing now. They will get version ${versionNumber}.`,
      ),
      whenField({
        texts: { now: `${now} now`, later: `${now} at …` },
        chosen: publishAt ? 'later' : 'now',
        at: publishAt,
        choose,
      }),
      h(
        'details',
        h('summary', 'Unpublish it again later'),
        timeField(
          'Unpublish at',
          'unpublishAt',
          { min: inputValueOf(new Date()) },
          'Leave empty to keep it published. ',
        ),
      ),
      plansToRemove({
        versions: others(versions),
        unschedule: async (other) => {
          const left = others(await unschedule(other))
          // The reader has seen this change.
          change = hold()
          return left
        },
      }),
    ],
    run: async ({ publishAt, unpublishAt }) => {
      const body = { publishAt: isoOf(publishAt), unpublishAt: isoOf(unpublishAt) }
      await change('POST', path`/versions/${versionId}/publish`, body)
      notify(
        publishAt ? `Version ${versionNumber} is scheduled.` : `Readers get version ${versionNumber} now.`,
      )
      await done()
    },
  })
}

export const unpublishPage = (change: Change, done: () => Promise<void>): void =>
  openForm({
    title: 'Unpublish the page',
    action: 'Unpublish',
    isDanger: true,
    body: [h('p', 'Readers get nothing until you publish a version again. No version is lost.')],
    run: async () => {
      await change('POST', '/unpublish')
      notify('Unpublished. Publish a version to show the page again.')
      await done()
    },
  })

export const renamePage = ({ customName, computedName }: PageWithVersion, change: Change): void =>
  openForm({
    title: 'Rename the page',
    action: 'Rename',
    body: [
      field('Name of the page', 'customName', { value: customName }, [
        'For you and your colleagues, here and in reports. Leave empty to use the generated name: ',
        bdi(computedName),
      ]),
    ],
    run: ({ customName }) => change('PATCH', '', { customName: customName || null }),
  })

export const deletePage = ({ pageGroupId, effectiveName }: PageWithVersion, change: Change): void =>
  askToDelete(
    effectiveName,
    'The page and all of its versions are deleted. This cannot be undone.',
    async () => {
      await change('DELETE', '')
      goTo(['pages', pageGroupId])
    },
  )
