import { type MemoryStore, memoryStore } from '../../src/adapters/memory/store.ts'
import { DomainFailure } from '../../src/core/engine/failures.ts'
import { asOutcome, type Outcome } from '../../src/core/engine/outcome.ts'
import {
  createPageGroup,
  type NewPageGroup,
  type PageGroupFields,
} from '../../src/core/pages/create-page-group.ts'
import { createPageWithVersion } from '../../src/core/pages/create-page-with-version.ts'
import { getPage } from '../../src/core/pages/get-page.ts'
import { listPageGroups, type PageGroupListing } from '../../src/core/pages/list-page-groups.ts'
import { listPages } from '../../src/core/pages/list-pages.ts'
import { updatePageGroup } from '../../src/core/pages/update-page-group.ts'
import type { PageGroupRead } from '../../src/core/ports/page-groups.ts'
import type { PageWant } from '../../src/core/ports/pages.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { SliceQuery } from '../../src/shapes/slice.ts'
import { countedIds, stoppedClock } from '../support/setting.ts'

/** A store in memory that has these tenants at once. */
export const storeWith = (...tenantIds: readonly string[]): MemoryStore => {
  const store = memoryStore()
  for (const tenantId of tenantIds)
    void store.tenants.add({
      tenantId,
      brandId: 'brand',
      name: 'Acme',
      createdAt: '2026-01-01T00:00:00.000Z',
    })
  return store
}

/** Where the stories about pages play: two tenants in a memory store, a stopped clock, and short ways to act. */
export const scene = async () => {
  const store = memoryStore()
  const clock = stoppedClock()
  const deps = { store, clock, newId: countedIds() }
  const { tenantId } = await createTenant(deps)({ name: 'Acme' })
  const { tenantId: strangerId } = await createTenant(deps)({ name: 'Stranger' })
  return {
    ...deps,
    tenantId,
    strangerId,
    newGroup: async (fields: Partial<NewPageGroup> = {}) =>
      (await createPageGroup(deps)({ tenantId, name: 'offers', title: 'Offers', ...fields })).value,
    updateGroup: async (pageGroupId: string, fields: PageGroupFields) =>
      (await updatePageGroup(deps)({ tenantId, pageGroupId, ...fields })).value,
    createPages: each(createPageWithVersion(deps)),
    createPage: createPageWithVersion(deps),
    readPage: async (want: PageWant) => (await getPage(deps)(want)).value,
    listPages: async (listing: PageGroupRead & SliceQuery) => (await listPages(deps)(listing)).value,
    listGroups: async (listing: PageGroupListing) => (await listPageGroups(deps)(listing)).value,
  }
}

/** Runs this for one input after the other, and returns what each got: an answer or a refusal. */
export const each =
  <Input, Answer>(run: (input: Input) => Promise<Answer>) =>
  async (inputs: readonly Input[]): Promise<readonly Outcome<Answer>[]> => {
    const outcomes: Outcome<Answer>[] = []
    for (const input of inputs) outcomes.push(await run(input).catch(asOutcome))
    return outcomes
  }

/** All that a caller learns from a refusal, so that two of them can be compared. */
export const noOf = async (
  call: Promise<unknown>,
): Promise<Pick<DomainFailure, 'kind' | 'message' | 'facts'>> => {
  const no = await call.then(
    () => new Error('nothing was refused'),
    (why: unknown) => why,
  )
  if (!(no instanceof DomainFailure)) throw no
  return { kind: no.kind, message: no.message, facts: no.facts }
}
