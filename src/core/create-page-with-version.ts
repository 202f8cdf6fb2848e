import type { CreatedPage, NewPage } from '../shapes/page.ts'
import { attempt } from './attempt.ts'
import { decideAndSave } from './decide-and-save.ts'
import { type Outcome, refuse } from './failures.ts'
import { firstWords } from './first-words.ts'
import { sha256 } from './hashes.ts'
import { keyOf } from './key-of.ts'
import { pageGroupNotFound } from './pages.ts'
import type { Clock, KnownPages, NewId, NewPageRow, PageWants, Store } from './ports.ts'
import { isoTime } from './times.ts'

export type PageToCreate = NewPage & {
  readonly tenantId: string
  readonly pageGroupId: string
  readonly idempotencyKey?: string | undefined
  /** Of the request, for whoever names the page. It is not stored. */
  readonly traceparent?: string | undefined
}
/** `replayed`: the first answer to a request that came before under the same idempotency key. */
export type PageCreation = { readonly page: CreatedPage; readonly replayed: boolean }

/** Told of each page before it is recorded, which may then fail. */
export type OnPage = (pageId: string, input: PageToCreate) => void

type Deps = {
  readonly store: Pick<Store, 'pages'>
  readonly clock: Clock
  readonly newId: NewId
  readonly onPage?: OnPage | undefined
}

/**
 * Creates pages, many at once, each with a version 1 in `processing` that a publisher then takes on
 * (specification 4.5). The page has a computed name from the first moment.
 *
 * Refuses, each page by itself: `page_group_not_found`, `page_group_not_active`, `idempotency_key_reused`.
 */
export const createPagesWithVersion =
  ({ store, clock, newId, onPage }: Deps) =>
  async (inputs: readonly PageToCreate[]): Promise<readonly Outcome<PageCreation>[]> => {
    const now = isoTime(clock())
    return decideAndSave({
      recall: () =>
        store.pages.recall({
          groups: groupsOf(inputs),
          keys: inputs.flatMap(({ tenantId, pageGroupId, idempotencyKey }) =>
            idempotencyKey === undefined ? [] : [{ tenantId, pageGroupId, idempotencyKey }],
          ),
        }),
      decide: (known) => decide(inputs, known, now, { newId, onPage }),
      record: (pages) => store.pages.record(pages),
    })
  }

/** Each group once, however many pages it gets. */
const groupsOf = (inputs: readonly PageToCreate[]): PageWants['groups'] => [
  ...new Map(inputs.map((input) => [keyOf(input.tenantId, input.pageGroupId), input])).values(),
]

/** Pure, but for what `onPage` does. A page sees what the ones before it in the list decided. */
const decide = (
  inputs: readonly PageToCreate[],
  known: KnownPages,
  now: string,
  { newId, onPage }: Pick<Deps, 'newId' | 'onPage'>,
) => {
  const groups = new Map(
    known.groups.map((group) => [keyOf(group.tenantId, group.pageGroupId), { ...group }]),
  )
  const firsts = new Map(
    known.pages.map((page) => [keyOf(page.tenantId, page.pageGroupId, page.idempotencyKey), page]),
  )
  const rows: NewPageRow[] = []

  const createOne = (input: PageToCreate): PageCreation => {
    const { tenantId, pageGroupId, customName = null, supplementaryContext = null, idempotencyKey } = input
    const group = groups.get(keyOf(tenantId, pageGroupId))
    if (group === undefined) return pageGroupNotFound()

    const requestHash = idempotencyKey === undefined ? null : requestHashOf(input)
    const key = idempotencyKey === undefined ? null : keyOf(tenantId, pageGroupId, idempotencyKey)
    const first = key === null ? undefined : firsts.get(key)
    if (first !== undefined) {
      if (first.requestHash !== requestHash)
        refuse('idempotency_key_reused', 'This idempotency key came before with another request.', {
          pageId: first.pageId,
        })
      return { page: createdPageOf(first), replayed: true }
    }

    if (group.status !== 'active')
      refuse('page_group_not_active', 'The page group is archived; it takes no new pages.')
    group.pagesCount++
    const row: NewPageRow = {
      tenantId,
      pageGroupId,
      pageId: newId('page'),
      customName,
      computedName: firstWords(supplementaryContext, group.title, group.pagesCount),
      supplementaryContext,
      idempotencyKey: idempotencyKey ?? null,
      requestHash,
      versionId: newId('pageversion'),
      versionNumber: 1,
      createdAt: now,
      updatedAt: now,
    }
    rows.push(row)
    onPage?.(row.pageId, input)
    if (key !== null && idempotencyKey !== undefined && requestHash !== null)
      firsts.set(key, { ...row, idempotencyKey, requestHash })
    return { page: createdPageOf(row), replayed: false }
  }

  const outcomes = inputs.map((input) => attempt(() => createOne(input)))
  return { outcomes, changes: rows.length === 0 ? null : rows }
}

const requestHashOf = ({ supplementaryContext, customName }: NewPage): string =>
  sha256(JSON.stringify([supplementaryContext ?? null, customName ?? null]))

const createdPageOf = (
  page: Pick<NewPageRow, 'pageId' | 'pageGroupId' | 'tenantId' | 'createdAt'>,
): CreatedPage => ({
  pageId: page.pageId,
  pageGroupId: page.pageGroupId,
  tenantId: page.tenantId,
  createdAt: page.createdAt,
  status: 'processing',
})
