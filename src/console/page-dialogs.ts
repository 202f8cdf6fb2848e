import type { CreatedVersion, Page, PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { call, can, get, Problem, path, type Slice } from './api.ts'
import { blankOf, fieldsOf, valueIn } from './content.ts'
import { contentField, typedContent } from './content-field.ts'
import { area, askToDelete, Choice, field, isoOf, openForm, tick, timeField, type Values } from './dialog.ts'
import { bdi, type Child, goTo, h, refill } from './dom.ts'
import { notify, pretty, showError } from './notices.ts'
import { withExact } from './raw.ts'
import { contentOf, dayInZone, plansOf } from './version.ts'
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
export type Edited = {
  readonly url: string
  readonly page: PageWithVersion
  readonly versions: readonly Version[]
  readonly unschedule: (version: Version) => Promise<readonly Version[]>
  readonly done: () => Promise<void>
}

/**
 * Edits a version that is scheduled, the draft if the newest version is one, or else what readers get. Saves that as a new
 * version, which takes the place of the scheduled one.
 */
export const editPage = async (edited: Edited, scheduled?: Version): Promise<void> => {
  const { url, page, versions } = edited
  const newest = versions[0]
  const draft = newest && isDraft(newest) ? newest : undefined
  const base = scheduled ?? draft ?? page.publishedVersion ?? newest
  const read = await call<VersionWithContent>('GET', `${url}${path`/versions/${base?.versionId ?? ''}`}`)
  const content = contentOf(read)
  const draftOrPage = draft ? 'Edit the draft' : 'Edit the page'
  const draftOrNow = draft ? 'draft' : 'now'
  openEditor({
    title: scheduled ? `Edit version ${scheduled.versionNumber}` : draftOrPage,
    content: content === 'null' ? '' : content,
    proposal: SAMPLE,
    about: read.value.supplementaryContext,
    when: scheduled ? 'later' : draftOrNow,
    at: scheduled?.publishAt,
    plans: h(
      'div',
      scheduled && replacementField(scheduled),
      plansToRemove({
        versions: without(scheduled, versions),
        unschedule: async (other) => without(scheduled, await edited.unschedule(other)),
      }),
    ),
    save: async (body, { when, publishAt, replaces }) => {
      let versionNumber = 0
      const create = async (): Promise<void> => {
        const { value } = await call<CreatedVersion>('POST', `${url}/versions`, { body })
        versionNumber = value.versionNumber
      }
      const isReplaced = scheduled && replaces && when !== 'draft'
      const save = isReplaced ? () => saveInstead(scheduled, edited, create) : create
      await saveAtFreeTime(edited, save, () => {
        const isNext = versionNumber === (newest?.versionNumber ?? 0) + 1
        const other = isNext ? '' : ` Version ${versionNumber - 1} was saved while you were editing.`
        notify(`Version ${versionNumber} ${savedAs(when as When, publishAt)}${other}`)
      })
    },
  })
}

const without = (version: Version | undefined, versions: readonly Version[]) =>
  versions.filter(({ versionId }) => versionId !== version?.versionId)

/** Asks whether what is saved replaces this version. */
const replacementField = ({ versionNumber, publishAt, unpublishAt }: Version) => [
  tick('replaces', `Replace version ${versionNumber}, scheduled for ${dayInZone(publishAt ?? '')}`, {
    checked: true,
  }),
  unpublishAt &&
    h(
      'small',
      `Version ${versionNumber} was to be unpublished on ${dayInZone(unpublishAt)}. The new version is not, unless you set that again under Publish….`,
    ),
]

/** Saves something in place of a scheduled version, which stays scheduled if that fails. */
const saveInstead = async (
  scheduled: Version,
  { url, unschedule, done }: Edited,
  save: () => Promise<void>,
): Promise<void> => {
  const { versionId, versionNumber, publishAt, unpublishAt } = scheduled
  await unschedule(scheduled)
  try {
    await save()
  } catch (error) {
    const body = { publishAt, unpublishAt: unpublishAt ?? undefined }
    await call('POST', `${url}${path`/versions/${versionId}/publish`}`, { body })
      .then(() => notify(`Version ${versionNumber} is scheduled again.`))
      .then(done)
      .catch(showError)
    throw error
  }
}

/** Saves something. If another version is scheduled for that time, it asks whether to replace that one. */
const saveAtFreeTime = async (
  edited: Edited,
  save: () => Promise<void>,
  announce: () => void,
): Promise<void> => {
  const finish = (): Promise<void> => {
    announce()
    return edited.done()
  }
  try {
    await save()
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'schedule_taken') throw error
    const other = await get<Version>(`${edited.url}${path`/versions/${error.versionId ?? ''}`}`)
    throw new Choice(
      `Version ${other.versionNumber} is already scheduled for ${dayInZone(other.publishAt ?? '')}. Choose another time, or replace it.`,
      `Replace version ${other.versionNumber}`,
      () => saveInstead(other, edited, save).then(finish),
    )
  }
  await finish()
}

/** A version that was never published, and is not about to be. */
export const isDraft = ({ status, publishedAt }: Version): boolean =>
  status === 'ready' && publishedAt === null

const ACTIONS: Readonly<Record<When, string>> = { now: 'Publish', later: 'Schedule', draft: 'Save the draft' }
/** What becomes of a saved version. */
const savedAs = (when: When, publishAt = ''): string => {
  if (when === 'draft') return 'is saved as a draft. Readers do not see it.'
  return when === 'now'
    ? 'is saved. Readers get it in a moment.'
    : `is scheduled for ${dayInZone(publishAt)}.`
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
  /** The time that is proposed. */
  readonly at?: string | null | undefined
  /** What is scheduled. */
  readonly plans?: HTMLElement
  readonly save: (body: string, values: Values) => Promise<void>
}

/** The form to edit a page: what it shows, and when readers get it. */
const openEditor = (editor: Editor): void => {
  const { title, content, proposal, note, about, name, when, at = null, plans, save } = editor
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
    // Enter is pressed for a new line, and must not publish half a page.
    needsButton: true,
    body: [
      name,
      contentField(before, note),
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
        at,
        choose,
      }),
      plans,
    ],
    run: async (values) => {
      const { content: typed, supplementaryContext, customName, when, publishAt } = values
      const members = {
        // A new version would get that of the newest one by default, which need not be the one that is edited.
        supplementaryContext: supplementaryContext || (name ? undefined : null),
        customName: customName || undefined,
        publish: when !== 'draft',
        publishAt: isoOf(publishAt),
      }
      // Untouched content stays unchanged, byte for byte.
      const saved = typed === before ? content || 'null' : typedContent(typed)
      const body = saved === 'null' && name ? JSON.stringify(members) : withExact(members, 'content', saved)
      await save(body, values)
    },
  })
}

/** The versions that are scheduled and would replace what is published before, each with a button that unschedules it. */
const plansToRemove = ({ versions, unschedule }: Pick<Edited, 'versions' | 'unschedule'>) => {
  const plans = h('div.warning', { role: 'status' })
  const show = (versions: readonly Version[]): void => {
    const remove = async (version: Version) => show(await unschedule(version))
    refill(plans, plansOf(versions, 'goes live, even if you publish this one first', remove))
  }
  show(versions)
  return plans
}

/** Whether readers get a newer version than this one. */
export const isOlder = ({ versionNumber }: Version, { publishedVersion }: PageWithVersion): boolean =>
  versionNumber < (publishedVersion?.versionNumber ?? 0)

/** Publishes a version that is ready, now or later. Says what it replaces, and what is scheduled to replace it. */
export const publishVersion = (version: Version, edited: Edited, hold: () => Change): void => {
  let change = hold()
  const { page, versions } = edited
  const { versionId, versionNumber, publishAt } = version
  const unschedule = async (other: Version): Promise<readonly Version[]> => {
    const left = await edited.unschedule(other)
    // The reader has seen this change.
    change = hold()
    return without(version, left)
  }
  const now = isOlder(version, page) ? 'Roll back' : 'Publish'
  const action = h('span')
  const choose = (when: When): void => {
    action.textContent = when === 'later' ? 'Schedule' : now
  }
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
      plansToRemove({ versions: without(version, versions), unschedule }),
    ],
    run: async ({ publishAt, unpublishAt }) => {
      const body = { publishAt: isoOf(publishAt), unpublishAt: isoOf(unpublishAt) }
      const save = () => change('POST', path`/versions/${versionId}/publish`, body)
      await saveAtFreeTime({ ...edited, unschedule }, save, () =>
        notify(
          publishAt
            ? `Version ${versionNumber} is scheduled for ${dayInZone(publishAt)}.`
            : `Readers get version ${versionNumber} now.`,
        ),
      )
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
