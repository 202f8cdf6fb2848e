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
import type { PageGroupKey } from '../../src/core/ports/page-groups.ts'
import type { PageKey } from '../../src/core/ports/pages.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { SliceQuery } from '../../src/shapes/slice.ts'
import { countedIds, stoppedClock } from '../support/setting.ts'

/** A memory store that holds these tenants. */
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

/** Two tenants in a memory store, a stopped clock, and short calls, for the tests about pages. */
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
    readPage: async (want: PageKey) => (await getPage(deps)(want)).value,
    listPages: async (listing: PageGroupKey & SliceQuery) => (await listPages(deps)(listing)).value,
    listGroups: async (listing: PageGroupListing) => (await listPageGroups(deps)(listing)).value,
  }
}

/** Runs the inputs one after the other, and returns the answer or refusal of each. */
export const each =
  <Input, Answer>(run: (input: Input) => Promise<Answer>) =>
  async (inputs: readonly Input[]): Promise<readonly Outcome<Answer>[]> => {
    const outcomes: Outcome<Answer>[] = []
    for (const input of inputs) outcomes.push(await run(input).catch(asOutcome))
    return outcomes
  }

/** The parts of a refusal that a caller sees, so that two refusals can be compared. */
export const refusalOf = async (
  call: Promise<unknown>,
): Promise<Pick<DomainFailure, 'kind' | 'message' | 'facts'>> => {
  const refusal = await call.then(
    () => new Error('nothing was refused'),
    (why: unknown) => why,
  )
  if (!(refusal instanceof DomainFailure)) throw refusal
  return { kind: refusal.kind, message: refusal.message, facts: refusal.facts }
}
